import { Component, type ReactNode } from "react";
import { Failure } from "./states.tsx";
import { words } from "../words.ts";

interface Props {
  /** Another one is another page: what failed before is behind it. */
  readonly at?: string;
  readonly onRetry?: () => void;
  readonly children: ReactNode;
}

interface State {
  readonly error: Error | null;
  readonly at: string | undefined;
}

/**
 * Shows what it holds, and where that fails says so in its place, with a way on; what is around it stays. A class, since
 * React has no other form for it.
 */
export class Boundary extends Component<Props, State> {
  override state: State = { error: null, at: this.props.at };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  static getDerivedStateFromProps({ at }: Props, state: State): State | null {
    return at === state.at ? null : { error: null, at };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div className="broken">
        <h1>{words.broken.title}</h1>
        <p>{words.broken.hint}</p>
        <Failure
          error={error}
          onRetry={() => {
            this.props.onRetry?.();
            this.setState({ error: null });
          }}
        />
      </div>
    );
  }
}

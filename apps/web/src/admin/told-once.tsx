import { words } from "../words.ts";

/** What is told here and never again, and a way to leave it. */
export function ToldOnce({
  lead,
  value,
  onClose,
}: {
  readonly lead: string;
  readonly value: string;
  readonly onClose: () => void;
}) {
  return (
    <>
      <p className="told-once">
        {lead} <code>{value}</code>
      </p>
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {words.keys.close}
        </button>
      </div>
    </>
  );
}

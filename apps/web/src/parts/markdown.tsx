import { createElement, Fragment, useMemo } from "react";
import { Link } from "wouter";
import { ExactProse, ExactText } from "./exact-text.tsx";
import { LongText } from "./long-text.tsx";
import { type Block, type PageOf, readMarkdown, type Span } from "./read-markdown.ts";
import "./markdown.css";

/**
 * What an agent says, with the little of Markdown that `readMarkdown` knows. Cards are never drawn with it: what is agreed
 * to is shown as it is.
 */
export function Markdown({ text }: { readonly text: string }) {
  return <LongText text={text} fileName="text.md" Body={Blocks} />;
}

/** The same for a piece of a page, with links to the pages that `pageOf` knows. */
export function Blocks({ text, pageOf }: { readonly text: string; readonly pageOf?: PageOf }) {
  const blocks = useMemo(() => readMarkdown(text, pageOf), [text, pageOf]);
  return (
    <div className="markdown">
      {blocks.map((block, n) => (
        <Fragment key={n}>{drawBlock(block)}</Fragment>
      ))}
    </div>
  );
}

function drawBlock(block: Block) {
  switch (block.kind) {
    case "code":
      return <ExactText text={block.text} />;
    case "list":
      return createElement(
        block.isOrdered ? "ol" : "ul",
        {},
        block.items.map((item, n) => (
          <li key={n}>
            <Spans spans={item} />
          </li>
        )),
      );
    case "heading":
      // The page has its own headings; what an agent calls one is only as large as one.
      return (
        <p className={`markdown-heading level-${block.level}`}>
          <Spans spans={block.spans} />
        </p>
      );
    case "quote":
      return (
        <blockquote>
          <Spans spans={block.spans} />
        </blockquote>
      );
    case "paragraph":
      return (
        <p>
          <Spans spans={block.spans} />
        </p>
      );
  }
}

function Spans({ spans }: { readonly spans: readonly Span[] }) {
  return spans.map((span, n) => <Fragment key={n}>{drawSpan(span)}</Fragment>);
}

function drawSpan(span: Span) {
  switch (span.kind) {
    case "text":
      return <Text text={span.text} />;
    case "code":
      return (
        <code>
          <Text text={span.text} />
        </code>
      );
    case "strong":
      return (
        <strong>
          <Spans spans={span.spans} />
        </strong>
      );
    case "emphasis":
      return (
        <em>
          <Spans spans={span.spans} />
        </em>
      );
    case "link":
      return (
        <a href={span.url} rel="noreferrer noopener" target="_blank" title={span.url}>
          <Spans spans={span.spans} />
          {hostBeside(span)}
        </a>
      );
    case "page":
      return (
        <Link href={`/kb/pages/${span.id}`}>
          <Spans spans={span.spans} />
        </Link>
      );
  }
}

/** A link says where it leads, where its words do not. */
function hostBeside({ url, spans }: Extract<Span, { kind: "link" }>) {
  const isShown = spans.length === 1 && spans[0]?.kind === "text" && spans[0].text === url;
  return isShown ? null : <span className="markdown-host"> ({new URL(url).host || url})</span>;
}

function Text({ text }: { readonly text: string }) {
  return text.split("\n").map((line, n) => (
    <Fragment key={n}>
      {n > 0 && <br />}
      <ExactProse text={line} />
    </Fragment>
  ));
}

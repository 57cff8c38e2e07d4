import type { Question } from "../api.ts";
import { LongText } from "../parts/long-text.tsx";
import { words } from "../words.ts";

/** What an agent asks, where the heading does not say all of it, with what it says around it, and what was answered. */
export function QuestionBody({ question, heading }: { readonly question: Question; readonly heading: string }) {
  return (
    <div className="call asked">
      {question.question !== heading && <LongText text={question.question} fileName="question.txt" />}
      {question.context !== null && (
        <aside className="narration">
          <LongText text={question.context} fileName="context.txt" />
        </aside>
      )}
      {question.answer !== null && (
        <section>
          <h3 className="label">{words.card.answer}</h3>
          <LongText text={question.answer} fileName="answer.txt" />
        </section>
      )}
    </div>
  );
}

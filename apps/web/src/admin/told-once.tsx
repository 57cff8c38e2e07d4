import { words } from "../words.ts";

/** What is told here and never again, and a way to leave it; `lost` where it was told before, and did not arrive. */
export function ToldOnce({
  lead,
  value,
  lost,
  onClose,
}: {
  readonly lead: string;
  readonly value: string | null;
  readonly lost: string;
  readonly onClose: () => void;
}) {
  return (
    <>
      {value === null || value === "" ? (
        <p className="refused" role="alert">
          {lost}
        </p>
      ) : (
        <p className="told-once">
          {lead} <code>{value}</code>
        </p>
      )}
      <div className="buttons">
        <button type="button" onClick={onClose}>
          {words.keys.close}
        </button>
      </div>
    </>
  );
}

import { expect, test } from "vitest";
import { insist } from "./insist.ts";

const lost = (): Error => Object.assign(new Error("write CONNECTION_CLOSED"), { code: "CONNECTION_CLOSED" });

/** Fails as told, one error a time, then answers. */
function failing(...errors: Error[]) {
  let sent = 0;
  return {
    send: async () => {
      const error = errors[sent];
      sent += 1;
      if (error !== undefined) throw error;
      return `answered at ${sent}`;
    },
    sent: () => sent,
  };
}

test("what is answered is not sent again", async () => {
  const { send, sent } = failing();
  expect(await insist(new AbortController().signal, send)).toBe("answered at 1");
  expect(sent()).toBe(1);
});

test("a lost connection leaves it open whether it happened, so it is sent until it is answered", async () => {
  expect(await insist(new AbortController().signal, failing(lost(), lost()).send)).toBe("answered at 3");
});

test.each(["53100", "57014", "40P01", "25006"])(
  "DU22: what a database in trouble refuses (%s) passes by itself, so it is sent until it is answered",
  async (code) => {
    const refused = (): Error => Object.assign(new Error("not now"), { code });
    expect(await insist(new AbortController().signal, failing(refused(), refused()).send)).toBe("answered at 3");
  },
);

test("an error of the statement itself rejects at once", async () => {
  const { send, sent } = failing(lost(), new Error("violates a constraint"));
  await expect(insist(new AbortController().signal, send)).rejects.toThrow("violates a constraint");
  expect(sent()).toBe(2);
});

test("a run that is not ours any more is not insisted on: one attempt, and a wait is cut short", async () => {
  const before = failing(lost());
  await expect(insist(AbortSignal.abort(), before.send)).rejects.toThrow("CONNECTION_CLOSED");
  expect(before.sent()).toBe(1);

  const abort = new AbortController();
  const during = failing(...Array.from({ length: 20 }, lost));
  const insisting = insist(abort.signal, during.send);
  setTimeout(() => abort.abort(), 20);
  await expect(insisting).rejects.toThrow("aborted");
  expect(during.sent()).toBe(1);
});

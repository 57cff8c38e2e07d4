import { openTestKit, type TestKit } from "@countersign/engine/test-kit.ts";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { decorators, tools } from "./tools.ts";

const [priceOf, book] = tools;

let kit: TestKit;
beforeAll(async () => {
  // Without a databaseUrl the kit starts a server of its own; here the one of this repository's tests is at hand.
  kit = await openTestKit({ databaseUrl: inject("testServer").url });
});
afterAll(() => kit.close());

test("a price is read without asking anybody", async () => {
  expect(await kit.runTool(priceOf, { machine: "saw" })).toMatchObject({
    verdict: "allow",
    card: undefined,
    status: "done",
    content: "saw: 9 € a day",
  });
});

test("what the schema refuses is never run", async () => {
  expect(await kit.runTool(priceOf, { machine: "" })).toMatchObject({
    verdict: "invalid",
    status: "failed",
    code: "invalid_args",
  });
});

test("a booking is shown to a person, who approves it", async () => {
  const booked = await kit.runTool(book, { machine: "drill", day: "2027-01-09" }, { secrets: { "rental.write": "s" } });
  expect(booked.card).toEqual(["Book: drill", "Day: 2027-01-09"]);
  expect(booked.status).toBe("done");
  expect(booked.content).toMatch(/^drill is booked for 2027-01-09, number [0-9a-f]{8}$/);
});

test("a booking that a person denies is not made, and one without its secret neither", async () => {
  const args = { machine: "drill", day: "2027-01-09" };
  expect(await kit.runTool(book, args, { answer: "deny" })).toMatchObject({ status: "denied", code: "user_denied" });
  const without = await kit.runTool(book, args);
  expect(without).toMatchObject({
    status: "failed",
    content: expect.stringContaining("capability denied: rental.write"),
  });
});

test("the decorator stands in the way of a machine that is being repaired", async () => {
  const refused = await kit.runTool(
    book,
    { machine: "sander", day: "2027-01-09" },
    { secrets: { "rental.write": "s" }, decorators },
  );
  expect(refused).toMatchObject({ status: "failed", content: "the sander is being repaired; nothing was booked" });
});

import { givenGatedRun, givenRun } from "@countersign/engine/testing/fixtures.ts";
import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture, phone } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;

test("the filter of the runs is in the address: it stays over a reload, Back takes it back, and an empty one says so", async () => {
  await givenRun(sql, world, { title: "still queued" });
  const { runId } = await givenGatedRun(sql, world);
  await sql`update runs set title = 'waits for a person' where id = ${runId}`;
  const page = await stage.signIn("viewer");
  await page.goto(`${stage.url}/runs`);
  const rows = page.locator("tbody tr");
  await page.getByRole("link", { name: "still queued" }).waitFor();
  expect(await rows.count()).toBe(2);

  await page.getByRole("button", { name: "Paused", exact: true }).click();
  await page.getByRole("link", { name: "still queued" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "waits for a person" }).waitFor();
  expect(new URL(page.url()).search).toBe("?status=paused");
  await page.reload();
  await page.getByRole("link", { name: "waits for a person" }).waitFor();
  expect(await rows.count()).toBe(1);
  expect(await page.getByRole("button", { name: "Paused", exact: true }).getAttribute("aria-pressed")).toBe("true");

  await page.getByRole("button", { name: "Failed", exact: true }).click();
  await page.getByText("No run of this status.").waitFor();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByRole("link", { name: "still queued" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
  for (const search of ["?status=failed", "?status=paused", ""]) {
    await page.goBack();
    expect(new URL(page.url()).search).toBe(search);
  }
  await page.getByRole("link", { name: "still queued" }).waitFor();
  await page.context().close();
});

const list = /\/v1\/runs(?:\?|$)/;

test("a list that could not be read is not an empty one: nobody answering and a refusal are told apart, and can be tried again", async () => {
  const page = await stage.signIn("viewer", phone);
  await page.route(list, (route) => route.abort());
  await page.goto(`${stage.url}/runs`);
  await page.getByRole("alert").getByText("The server does not answer.").waitFor();
  expect(await page.getByText("Nothing has run yet.").count()).toBe(0);
  await expectAccessible(page);
  await keepPicture(page, "runs-no-answer-phone");
  await page.unroute(list);
  await page.route(list, (route) =>
    route.fulfill({
      status: 503,
      contentType: "application/problem+json",
      body: JSON.stringify({
        code: "busy",
        title: "x",
        detail: "Held up by others.",
        status: 503,
        requestId: "r-18",
      }),
    }),
  );
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("alert").getByText("Held up by others.").waitFor();
  await page.getByText("r-18").waitFor();
  await page.unroute(list);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("link", { name: "still queued" }).waitFor();
  await page.context().close();
});

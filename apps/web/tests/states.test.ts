import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();

test("loading, empty, filtered to nothing, failed and unknown are different, said in words, and readable by all", async () => {
  const page = await stage.signIn("operator");
  await page.getByText("Nothing waits for you.").waitFor();
  await page.getByRole("button", { name: "Outcomes" }).click();
  await page.getByText("There is no such task.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "filtered-empty");
  await page.getByRole("button", { name: "Show all" }).click();
  await page.getByText("Nothing waits for you.").waitFor();

  for (const [path, empty] of [
    ["/runs", "Nothing has run yet."],
    ["/kb", "There is no page here yet."],
  ] as const) {
    await page.goto(`${stage.url}${path}`);
    await page.getByText(empty).waitFor();
    await expectAccessible(page);
  }
  await page.goto(`${stage.url}/runs?status=failed`);
  await page.getByText("No run of this status.").waitFor();

  // Of nothing that exists: it is said, with a way back.
  const nobody = "00000000-0000-7000-8000-000000000000";
  for (const path of [`/tasks/${nobody}`, `/runs/${nobody}`, `/kb/pages/${nobody}`]) {
    await page.goto(`${stage.url}${path}`);
    await page
      .getByRole("alert")
      .getByText(/There is no/)
      .waitFor();
    await expectAccessible(page);
  }
  await page.goto(`${stage.url}/admin/nowhere`);
  await page.waitForURL("**/admin/definitions");
  await page.goto(`${stage.url}/tasks/one/two`);
  await page.getByText("There is no such page.").waitFor();
  await expectAccessible(page);

  // While it is on its way, and when it fails.
  let answer: (() => void) | undefined;
  const held = new Promise<void>((done) => (answer = done));
  await page.route("**/v1/tasks?**", async (route) => {
    await held;
    await route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      body: JSON.stringify({
        code: "internal",
        title: "x",
        detail: "Something failed.",
        status: 500,
        requestId: "r-17",
      }),
    });
  });
  await page.goto(`${stage.url}/tasks`);
  await page.getByText("Loading…").waitFor();
  await expectAccessible(page);
  answer?.();
  await page.getByRole("alert").getByText("Something failed.").waitFor();
  await page.getByText("r-17").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "failed");
  await page.unroute("**/v1/tasks?**");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Nothing waits for you.").waitFor();
  await page.context().close();
});

test("a page that fails says so in its place: what is around it stays, and it can be tried again or left", async () => {
  const page = await stage.signIn("operator", phone);
  const runs = /\/v1\/runs(?:\?|$)/;
  await page.route(runs, (route) => route.fulfill({ json: { runs: [null], nextCursor: null } }));
  const failed = page.getByRole("heading", { name: "This page failed" });
  await page.goto(`${stage.url}/runs`);
  await failed.waitFor();
  await expectAccessible(page);
  await keepPicture(page, "page-failed-phone");
  await page.getByRole("link", { name: "Knowledge" }).click();
  await page.getByText("There is no page here yet.").waitFor();
  await page.getByRole("link", { name: "Runs" }).click();
  await failed.waitFor();
  await page.unroute(runs);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Nothing has run yet.").waitFor();
  await page.context().close();
});

test("what cannot be read is not shown as none, wherever it is listed, and an address that nothing knows says so", async () => {
  const page = await stage.signIn("admin");
  const body = { code: "internal", title: "x", detail: "It failed here.", status: 500, requestId: "r-18" };
  await page.route(/\/v1\/(?:tokens|delegations)\?/, (route) =>
    route.fulfill({ status: 500, contentType: "application/problem+json", body: JSON.stringify(body) }),
  );
  for (const [path, times] of [
    ["/admin/people", 1],
    ["/admin/account", 2],
  ] as const) {
    await page.goto(`${stage.url}${path}`);
    await soon(() => page.getByRole("alert").getByText("It failed here.").count()).toBe(times);
    expect(await page.getByText("Nobody decides on another's say.").count()).toBe(0);
  }
  await page.goto(`${stage.url}/kb/no/such/page`);
  await page.getByRole("heading", { name: "There is no such page." }).waitFor();
  await page.context().close();
});

test("after Back a field says what is shown", async () => {
  const page = await stage.signIn("admin");
  for (const [path, of, field] of [
    ["/kb", "q", page.getByRole("searchbox")],
    ["/admin/audit", "action", page.getByLabel("Action")],
  ] as const) {
    await page.goto(`${stage.url}${path}`);
    for (const text of ["apples", "pears"]) {
      await field.fill(text);
      await field.press("Enter");
      await page.waitForURL(`**${of}=${text}`);
    }
    await page.goBack();
    await page.waitForURL(`**${of}=apples`);
    await soon(() => field.inputValue()).toBe("apples");
  }
  await page.context().close();
});

test("on a phone whatever is pressed is large enough, and nothing is wider than the screen", async () => {
  const page = await stage.signIn("admin", phone);
  for (const path of ["/tasks", "/runs", "/kb", "/admin/rules", "/admin/people", "/admin/audit", "/admin/account"]) {
    await page.goto(`${stage.url}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.getByText("Loading…").first().waitFor({ state: "detached" });
    const found = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - innerWidth,
      small: [...document.querySelectorAll("button, .top nav a, select")]
        .filter((element) => element.getBoundingClientRect().height > 0)
        .filter((element) => element.getBoundingClientRect().height < 43)
        .map((element) => element.textContent?.slice(0, 40)),
    }));
    expect({ path, ...found }).toEqual({ path, wide: 0, small: [] });
  }
  await page.context().close();
});

test("with reduced motion nothing moves", async () => {
  const page = await stage.signIn("viewer", { reducedMotion: "reduce" });
  const moving = await page.evaluate(
    () =>
      [...document.querySelectorAll("*")].filter((element) => {
        const style = getComputedStyle(element);
        return (
          style.animationName !== "none" || (style.transitionDuration !== "0s" && style.transitionProperty !== "all")
        );
      }).length,
  );
  expect(moving).toBe(0);
  await page.context().close();
});

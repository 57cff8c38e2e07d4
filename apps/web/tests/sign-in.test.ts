import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture } from "./stage.ts";

const stage = await givenStage();

test("a login link signs in on a click, and signing out ends the session", async () => {
  const page = await stage.signIn("operator");
  await page.getByText("Nothing waits for you.").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "empty-queue");
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/login");
  await page.getByText("./countersign login").waitFor();
  await expectAccessible(page);
  await keepPicture(page, "sign-in");
  expect(await page.context().cookies()).toEqual([]);
  await page.context().close();
});

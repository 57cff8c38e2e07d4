import { expect, test } from "vitest";
import { doubledKey } from "./doubled-key.ts";

test("a key is found where it stands twice in one object, in whatever spelling and depth, and nowhere else", () => {
  expect(doubledKey('{"to":"ann","to":"bob"}')).toBe("to");
  expect(doubledKey(String.raw`{"to":1,"t\u006f":2}`)).toBe("to");
  expect(doubledKey('[{"a":{"b":[],"b":{}}}]')).toBe("b");
  expect(
    doubledKey(String.raw`{"a\"":1,"a":{"a\"":2,"a":3},"c":[{"a":1},{"a":2}],"d":"{\"a\":1,\"a\":2}:"}`),
  ).toBeUndefined();
  expect(doubledKey('{"a":1,"a":')).toBeUndefined();
  const many = Array.from({ length: 20_000 }, (_, n) => `"${n}":{"x":[${n}]}`).join(",");
  expect(doubledKey(`{${many}}`)).toBeUndefined();
});

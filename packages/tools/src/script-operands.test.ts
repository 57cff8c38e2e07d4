import { expect, test } from "vitest";
import { scriptsOf } from "./script-operands.ts";

const at = "/work-place";

test.each([
  ["sh s.sh", ["/work-place/s.sh"]],
  ["./run-me a b", ["/work-place/run-me"]],
  ["python3 tool.py data.csv", ["/work-place/tool.py"]],
  ["node --require ./hook.js main.js", ["/work-place/hook.js", "/work-place/main.js"]],
  ["awk -f prog.awk data.log", ["/work-place/prog.awk"]],
  ["sudo -u x nice bash /opt/x.sh", ["/opt/x.sh"]],
  ["find . -exec sh each.sh {} \\;", ["/work-place/each.sh"]],
  ["cd /srv && sh s.sh", ["/work-place/s.sh", "/srv/s.sh"]],
  ["cd sub && ./s.sh", ["/work-place/s.sh", "/work-place/sub/s.sh"]],
  ["cat a.txt | sh -s", []],
  ["sh -c 'echo hi'", []],
  ["python3 -c 'print(1)'", []],
  ["sqlite3 data.db 'select 1'", []],
  ["/usr/bin/git status", []],
  ["git status && ls", []],
  ["sh $SCRIPT", []],
  ["sh *.sh", []],
])("%s runs %j", (command, scripts) => {
  expect([...scriptsOf(command, at)].toSorted()).toEqual([...scripts].toSorted());
});

test("without a folder to run in, a relative name leads nowhere", () => {
  expect(scriptsOf("sh s.sh; sh /opt/x.sh", undefined)).toEqual(["/opt/x.sh"]);
});

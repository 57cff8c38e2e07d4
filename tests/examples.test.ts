// Every example has its test beside it, which tells how it is used; here they are run with all others.
await import("../examples/embed/lend.test.ts");
await import("../examples/http-tool/warehouse.test.ts");
await import("../examples/in-process/tools.test.ts");

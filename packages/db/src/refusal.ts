/**
 * What was asked for cannot be, as things are. Its message says what was found and what the operator has to do, and holds no
 * secret: a program that ends with it shows that message and no stack.
 */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
}

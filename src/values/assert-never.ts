/** Closes a switch over a union: a missing case does not compile, and throws if it occurs at run time. */
export function assertNever(value: never): never {
  throw new Error(`unexpected member of a closed union: ${JSON.stringify(value)}`)
}

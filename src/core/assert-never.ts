/** Closes a switch over a union: a member that was forgotten does not compile, and fails loudly if it arrives at run time. */
export function assertNever(value: never): never {
  throw new Error(`unexpected member of a closed union: ${JSON.stringify(value)}`)
}

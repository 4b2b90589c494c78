/**
 * The claims that this process works on. A row that it owns and does not work on is given up: its
 * answer was lost, or the work failed, and its lane would else wait until the lease ends.
 */
const active = new Set<string>()

export const isActiveClaim = (id: string): boolean => active.has(id)

/** Before the row is claimed: others in this process would take it for one that nobody works on. */
export function beginClaim(id: string): void {
  active.add(id)
}

/** The work on it is over, whatever its outcome. */
export function endClaim(id: string): void {
  active.delete(id)
}

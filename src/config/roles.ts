/** Who may do what in the console. */

/** Each may do what the ones before it may. */
export const roles = ['viewer', 'operator', 'approver'] as const
export type Role = (typeof roles)[number]

export function hasRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** Who looks at a page. */
export type Viewer = {
  readonly name: string
  readonly role: Role
  /** The words of messages, and names and addresses of visitors, are not shown. */
  readonly hidesMessages: boolean
}

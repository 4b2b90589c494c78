/** Finds the objects that a person named: by name, or by a pattern such as `fct_*`. */
import type { ObjectName } from '../core/export.ts'
import { nearestNames } from '../core/nearest-names.ts'
import { UserError } from '../core/user-error.ts'

/** In the order of the names, each object once. Throws UserError. */
export function findObjects(names: readonly string[], existing: readonly ObjectName[]): readonly ObjectName[] {
  return [
    ...new Set(names.flatMap((name) => (name.includes('*') ? matchAll(name, existing) : [findOne(name, existing)]))),
  ]
}

function findOne(name: string, existing: readonly ObjectName[]): ObjectName {
  const found = existing.find((object) => object.name === name)
  if (found === undefined) throw unknownObject(name, existing)
  return found
}

/** The state of deskmirror itself, which is exported only by its exact name. */
const internalName = /^(sync_|_)/

function matchAll(pattern: string, existing: readonly ObjectName[]): readonly ObjectName[] {
  const matching = existing.filter(({ name }) => matchesPattern(name, pattern) && !internalName.test(name))
  if (matching.length === 0) throw unknownObject(pattern, existing)
  return matching
}

/** `*` stands for any characters. */
function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', ...parts] = pattern.split('*')
  const end = parts.pop() ?? ''
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false
  let rest = name.slice(start.length, name.length - end.length)
  for (const part of parts) {
    const at = rest.indexOf(part)
    if (at < 0) return false
    rest = rest.slice(at + part.length)
  }
  return true
}

function unknownObject(name: string, existing: readonly ObjectName[]): UserError {
  const names = existing.map((object) => object.name)
  const nearest = nearestNames(name.replaceAll('*', ''), names)
  const shown = nearest.length > 0 ? nearest : names.filter((existingName) => !internalName.test(existingName))
  return new UserError({
    what: `cannot export ${name}`,
    why: 'the warehouse has no table or view of that name',
    next: `${nearest.length > 0 ? 'perhaps' : 'choose from'} ${shown.join(', ')}`,
    exitCode: 2,
  })
}

/** Which pages the navigation of the console lists, for whom, and the key of each. */
import { hasRole } from '../config/people.ts'
import { path, withQuery } from '../values/address.ts'
import type { ConsolePage, Frame } from './frame.ts'

/** Of each item: its name, its path within the project, and its key after `g`. */
const navigationGroups = {
  Support: [
    ['Overview', '', 'o'],
    ['Open now', '/open', 'n'],
    ['Waiting', '/waiting', 'w'],
    ['Write-backs', '/writebacks', 'b'],
    ['Search', '/search', 'c'],
  ],
  Numbers: [
    ['Charts', '/charts', 'h'],
    ['Report', '/report', 'e'],
    ['Longest waits', '/waits', 'q'],
    ['Agents', '/agents', 'a'],
    ['Targets', '/targets', 't'],
    ['AI', '/ai', 'i'],
    ['Hours', '/hours', 'd'],
    ['Calls', '/calls', 'f'],
  ],
  Data: [
    ['Streams', '/streams', 's'],
    ['Budget', '/budget', 'u'],
    ['Runs', '/runs', 'r'],
    ['Schema', '/schema', 'm'],
    ['Service', '/service', 'v'],
  ],
} as const

export type NavigationItem = readonly [name: string, to: string, key: string]

/** The items that this person has here, by the titles of their groups. */
export function navigationOf(
  { kept = {} }: ConsolePage,
  { project, viewer }: Frame,
): readonly (readonly [title: string, items: readonly NavigationItem[]])[] {
  const ofProject = Object.entries(navigationGroups).map(([title, items]) => {
    const query = title === 'Numbers' ? kept : {}
    const within = (to: string) => withQuery(path`/console/p/${project ?? ''}` + to, query)
    return [title, items.map(([name, to, key]) => [name, within(to), key] as const)] as const
  })
  const log = ['Audit log', '/console/log', 'l'] as const
  const isApprover = viewer !== null && hasRole(viewer.role, 'approver')
  const all = [
    'All projects',
    [['Projects', '/console/projects', 'p'], ...(isApprover ? [log] : [])],
  ] as const
  return project === null ? [all] : [...ofProject, all]
}

/** The navigation of the console, and the keys that lead there. */
import { hasRole } from '../config/people.ts'
import { path, withQuery } from '../values/address.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { Frame, Page } from './frame.ts'

/** Of each item: its name, its path within the project, and its key after `g`. */
const navigationGroups = {
  Support: [
    ['Overview', '', 'o'],
    ['Waiting', '/waiting', 'w'],
    ['Write-backs', '/writebacks', 'b'],
    ['Search', '/search', 'c'],
  ],
  Numbers: [
    ['Charts', '/charts', 'h'],
    ['Report', '/report', 'e'],
    ['Agents', '/agents', 'a'],
    ['Targets', '/targets', 't'],
    ['AI', '/ai', 'i'],
    ['Hours', '/hours', 'd'],
    ['Calls', '/calls', 'f'],
    ['Rollups', '/rollups', 'n'],
  ],
  Data: [
    ['Streams', '/streams', 's'],
    ['Budget', '/budget', 'u'],
    ['Runs', '/runs', 'r'],
    ['Schema', '/schema', 'm'],
    ['Service', '/service', 'v'],
  ],
} as const

type NavigationItem = readonly [name: string, to: string, key: string]

/** The items that this person has here, by the titles of their groups. */
function navigationOf(
  { kept = {} }: Page,
  { project, viewer }: Frame,
): readonly (readonly [title: string, items: readonly NavigationItem[]])[] {
  const ofProject = Object.entries(navigationGroups).map(([title, items]) => {
    const query = title === 'Numbers' ? kept : {}
    const within = (to: string) => withQuery(path`/console/p/${project ?? ''}` + to, query)
    return [title, items.map(([name, to, key]) => [name, within(to), key] as const)] as const
  })
  const log = ['Audit log', '/console/log', 'l'] as const
  const isApprover = viewer !== null && hasRole(viewer.role, 'approver')
  const all = ['All projects', [['Projects', '/console/projects', 'p'], ...(isApprover ? [log] : [])]] as const
  return project === null ? [all] : [...ofProject, all]
}

export function navigation(page: Page, frame: Frame, isLive: boolean): Html {
  const groups = navigationOf(page, frame)
  const linkOf = ([name, to, key]: NavigationItem) =>
    html`<li><a href="${to}" ${attribute('data-key', key)} ${attribute('aria-current', page.section === name ? 'page' : null)}>${name}</a></li>`
  const pause = html`<button type="button" ${attribute('data-live-pause', true)} ${attribute('hidden', true)}>Pause live numbers</button>`
  return html`<nav id="navigation" popover aria-label="Console">
${groups.map(([title, items]) => html`<p>${title}</p><ul>${items.map(linkOf)}</ul>`)}
<p>This console</p>${isLive ? pause : nothing}<button type="button" popovertarget="keys">Keyboard</button>
<form method="post" action="/console/sign-out"><button type="submit">Sign out</button></form></nav>
${keyList(groups.flatMap(([, items]) => items))}`
}

const otherKeys = { '/': 'Search', j: 'Next row', k: 'Row before', x: 'Pick the row', p: 'Pause', '?': 'This list' }

/** What `?` shows. The script, without which there are no keys, shows the button. */
function keyList(items: readonly NavigationItem[]): Html {
  const keys = [...Object.entries(otherKeys), ...items.map(([name, , key]) => [`g ${key}`, name] as const)]
  const list = keys.map(
    ([key, what]) => html`<div><dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${what}</dd></div>`,
  )
  return html`<div id="keys" popover role="dialog" aria-label="Keyboard"><h2>Keyboard</h2><dl>${list}</dl>
<button type="button" ${attribute('data-keys', true)} ${attribute('hidden', true)}>Switch keys off</button></div>`
}

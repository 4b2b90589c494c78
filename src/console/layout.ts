/**
 * What surrounds every page of the console: its head, banner and navigation, with the keys that
 * lead there.
 */
import { path } from '../values/address.ts'
import { attribute, escapeHtml, type Html, html, nothing, trusted } from '../values/html.ts'
import { icon } from './blocks.ts'
import type { ConsolePage, Frame } from './frame.ts'
import { type NavigationItem, navigationOf } from './navigation.ts'

/**
 * Apart: a bundler rewrites tagged templates that contain this tag, and adds code of its own for
 * that.
 */
const script = (address: string) =>
  trusted(`<script type="module" src="${escapeHtml(address)}"></script>`)

/** In the order of their layers. */
const styles = ['base', 'layout', 'blocks', 'forms', 'charts'] as const

export function layout(page: ConsolePage, frame: Frame): Html {
  const { assets, project, viewer } = frame
  const isLive = page.isLive === true && project !== null && !frame.isReadOnly
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}${project === null ? '' : ` · ${project}`} · deskmirror</title>
${styles.map((name) => html`<link rel="stylesheet" href="${assets}/${name}.css">`)}
<link rel="icon" href="${assets}/icon.svg" type="image/svg+xml">
${script(`${assets}/console.js`)}
</head>
<body ${attribute('data-live', isLive)} ${attribute('class', viewer === null ? 'alone' : null)}>
<a class="skip" href="#main">Skip to the content</a>
${viewer === null ? nothing : banner(frame, isLive)}
${viewer === null ? nothing : navigation(page, frame, isLive)}
<main id="main" tabindex="-1">
${viewer === null ? html`<p class="brand">deskmirror</p>` : nothing}
<h1>${page.title}</h1>
${page.content}
</main>
</body>
</html>
`
}

function banner(frame: Frame, isLive: boolean): Html {
  const { project, viewer } = frame
  return html`<header>
<button type="button" class="menu-button" popovertarget="navigation"
  aria-label="Menu">${icon('menu', frame)}</button>
<a class="brand" href="/console">deskmirror</a>
${projectSwitch(frame)}
${
  project === null
    ? nothing
    : html`<form class="search" action="${path`/console/p/${project}/search`}" role="search"><input
      type="search" name="q" aria-label="Search conversations and visitors" placeholder="Search"
      autocomplete="off" enterkeyhint="search"><kbd aria-hidden="true">/</kbd></form>`
}
<div class="session">
${
  isLive
    ? html`<span class="faint" role="status"
  ${attribute('data-live-state', 'off')}></span>`
    : nothing
}
<span class="viewer"><bdi>${viewer?.name ?? ''}</bdi>${viewer?.name === viewer?.role ? nothing : html` <span class="faint">${viewer?.role ?? ''}</span>`}</span>
</div>
</header>`
}

function projectSwitch({ projects, project }: Frame): Html {
  if (project === null) return nothing
  if (projects.length === 1) return html`<span class="project"><bdi>${project}</bdi></span>`
  const links = projects.map(
    (name) =>
      html`<li><a href="${path`/console/p/${name}`}"
        ${attribute('aria-current', name === project ? 'true' : null)}><bdi>${name}</bdi></a></li>`,
  )
  return html`<details class="project"><summary
    title="Project"><bdi>${project}</bdi></summary><ul>${links}</ul></details>`
}

function navigation(page: ConsolePage, frame: Frame, isLive: boolean): Html {
  const groups = navigationOf(page, frame)
  const linkOf = ([name, to, key]: NavigationItem) =>
    html`<li><a href="${to}" ${attribute('data-key', key)}
      ${attribute('aria-current', page.section === name ? 'page' : null)}>${name}</a></li>`
  const pause = html`<button type="button" ${attribute('data-live-pause', true)}
    ${attribute('hidden', true)}>Pause live numbers</button>`
  return html`<nav id="navigation" popover aria-label="Console">
${groups.map(([title, items]) => html`<p>${title}</p><ul>${items.map(linkOf)}</ul>`)}
<p>This console</p>${isLive ? pause : nothing}<button type="button"
  popovertarget="keys">Keyboard</button>
<form method="post" action="/console/sign-out"><button type="submit">Sign out</button></form></nav>
${keyList(groups.flatMap(([, items]) => items))}`
}

const otherKeys = {
  '/': 'Search',
  j: 'Next row',
  k: 'Row before',
  x: 'Pick the row',
  p: 'Pause',
  '?': 'This list',
}

/** What `?` shows. The script, without which there are no keys, shows the button. */
function keyList(items: readonly NavigationItem[]): Html {
  const keys = [
    ...Object.entries(otherKeys),
    ...items.map(([name, , key]) => [`g ${key}`, name] as const),
  ]
  const kbd = (key: string) => html`<kbd>${key}</kbd> `
  const list = keys.map(
    ([key, what]) => html`<div><dt>${key.split(' ').map(kbd)}</dt><dd>${what}</dd></div>`,
  )
  return html`<div id="keys" popover role="dialog"
    aria-label="Keyboard"><h2>Keyboard</h2><dl>${list}</dl>
<button type="button" ${attribute('data-keys', true)} ${attribute('hidden', true)}>Switch keys
  off</button></div>`
}

/** A page in place of the one that was asked for. */
export function problemPage(title: string, text: string, to: string | null): ConsolePage {
  const label = to?.endsWith('/sign-in') ? 'Sign in' : 'Back'
  const link = to === null ? nothing : html`<p><a class="button" href="${to}">${label}</a></p>`
  return {
    title,
    section: null,
    content: html`<p ${attribute('role', 'alert')}>${text}</p>${link}`,
  }
}

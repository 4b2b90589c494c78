/** What surrounds every page of the console: its head and banner. */
import { path } from '../values/address.ts'
import { attribute, escapeHtml, type Html, html, nothing, trusted } from '../values/html.ts'
import { icon } from './blocks.ts'
import type { Frame, Page } from './frame.ts'
import { navigation } from './navigation.ts'

/** Apart: a bundler rewrites tagged templates that contain this tag, and adds code of its own for that. */
const script = (address: string) => trusted(`<script type="module" src="${escapeHtml(address)}"></script>`)

/** In the order of their layers. */
const styles = ['base', 'layout', 'blocks', 'forms', 'charts'] as const

export function layout(page: Page, frame: Frame): Html {
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
<body ${attribute('data-live-project', isLive ? project : null)} ${attribute('class', viewer === null ? 'alone' : null)}>
<a class="skip" href="#main">Skip to the content</a>
${viewer === null ? nothing : banner(frame, isLive)}
${viewer === null ? nothing : navigation(page, frame, isLive)}
<main id="main" tabindex="-1">
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
<button type="button" class="menu-button" popovertarget="navigation" aria-label="Menu">${icon('menu', frame)}</button>
<a class="brand" href="/console">deskmirror</a>
${projectSwitch(frame)}
${
  project === null
    ? nothing
    : html`<form class="search" action="${path`/console/p/${project}/search`}" role="search"><input type="search" name="q" aria-label="Search conversations and visitors" placeholder="Search" autocomplete="off" enterkeyhint="search"><kbd aria-hidden="true">/</kbd></form>`
}
<div class="session">
${isLive ? html`<span class="faint" role="status" ${attribute('data-live-state', 'off')}></span>` : nothing}
<span class="viewer"><bdi>${viewer?.name ?? ''}</bdi>${viewer?.name === viewer?.role ? nothing : html` <span class="faint">${viewer?.role ?? ''}</span>`}</span>
</div>
</header>`
}

function projectSwitch({ projects, project }: Frame): Html {
  if (project === null) return nothing
  if (projects.length === 1) return html`<span class="project"><bdi>${project}</bdi></span>`
  const links = projects.map(
    (name) =>
      html`<li><a href="${path`/console/p/${name}`}" ${attribute('aria-current', name === project ? 'true' : null)}><bdi>${name}</bdi></a></li>`,
  )
  return html`<details class="project"><summary>project <bdi>${project}</bdi></summary><ul>${links}</ul></details>`
}

/** A page in place of the one that was asked for. */
export function problemPage(title: string, text: string, to: string | null): Page {
  const label = to?.endsWith('/sign-in') ? 'Sign in' : 'Back'
  const link = to === null ? nothing : html`<p><a class="button" href="${to}">${label}</a></p>`
  return { title, section: null, content: html`<p ${attribute('role', 'alert')}>${text}</p>${link}` }
}

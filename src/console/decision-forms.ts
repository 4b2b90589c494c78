/** Buttons of decisions. Each is a form, so that it works without a script; those to confirm lead to a page first. */

import { type DecisionName, decisions } from '../outbox/core/decisions.ts'
import { escapeName, withQuery } from '../values/address.ts'
import { attribute, type Html, html, nothing } from '../values/html.ts'
import type { ProjectName } from '../values/project.ts'
import { addressOf } from './blocks.ts'

/** What the decision is about: a batch or one write-back. `digest`: names it as it was shown. */
type DecisionForm = {
  readonly project: ProjectName
  readonly about: { readonly batch: string } | { readonly id: string }
  readonly digest?: string
}

/** In the order in which they are given. */
export function decisionButtons(offered: readonly DecisionName[], form: DecisionForm): Html {
  if (offered.length === 0) return nothing
  return html`<div class="actions">${offered.map((decision, index) => decisionButton(decision, form, index === 0))}</div>`
}

function decisionButton(decision: DecisionName, { project, about, digest }: DecisionForm, isFirst: boolean): Html {
  const { label, taken, isUsual = false } = decisions[decision]
  const isPrimary = isFirst && isUsual
  if (taken === 'confirmed') {
    const to = withQuery(addressOf({ project }, 'confirm'), { decision, ...escapeBatch(about) })
    return html`<a class="button${isPrimary ? ' primary' : ''}" href="${to}">${label}</a>`
  }
  return html`<form method="post" action="${addressOf({ project }, 'decide')}">${hiddenFields({ decision, ...about, ...(digest === undefined ? {} : { digest }) })}
<button type="submit" ${attribute('class', isPrimary ? 'primary' : null)}>${label}</button></form>`
}

/** What `targetOf` reads back. */
function escapeBatch<F extends object>(fields: F): F {
  return 'batch' in fields && typeof fields.batch === 'string' ? { ...fields, batch: escapeName(fields.batch) } : fields
}

export function hiddenFields(fields: Readonly<Record<string, string | readonly string[]>>): Html {
  const list = Object.entries(escapeBatch(fields)).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => [name, one] as const),
  )
  return html`${list.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

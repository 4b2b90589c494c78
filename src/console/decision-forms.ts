/** Buttons of decisions. Each is a form, so that it works without a script; those to confirm lead to a page first. */
import { type DecisionName, needsConfirmation } from '../core/console/decisions.ts'
import { path, withQuery } from '../core/html/address.ts'
import { attribute, type Html, html, nothing } from '../core/html/html.ts'
import { decisionLabels } from './writeback-words.ts'

/** What the decision is about: a batch or one write-back. `digest`: names it as it was shown. */
export type DecisionForm = {
  readonly project: string
  readonly about: { readonly batch: string } | { readonly id: string }
  readonly digest?: string
}

/** What people come for; the others stand beside it. */
const usual: ReadonlySet<DecisionName> = new Set(['approve', 'undo', 'stop', 'resume', 'arrived'])

/** In the order in which they are given. */
export function decisionButtons(decisions: readonly DecisionName[], form: DecisionForm): Html {
  if (decisions.length === 0) return nothing
  return html`<div class="actions">${decisions.map((decision, index) => decisionButton(decision, form, index === 0))}</div>`
}

function decisionButton(decision: DecisionName, { project, about, digest }: DecisionForm, isFirst: boolean): Html {
  const label = decisionLabels[decision]
  const isUsual = isFirst && usual.has(decision)
  if (needsConfirmation(decision)) {
    const to = withQuery(path`/console/p/${project}/confirm`, { decision, ...about })
    return html`<a class="button${isUsual ? ' primary' : ''}" href="${to}">${label}</a>`
  }
  return html`<form method="post" action="${path`/console/p/${project}/decide`}">${hiddenFields({ decision, ...about, ...(digest === undefined ? {} : { digest }) })}
<button type="submit" ${attribute('class', isUsual ? 'primary' : null)}>${label}</button></form>`
}

export function hiddenFields(fields: Readonly<Record<string, string | readonly string[]>>): Html {
  const list = Object.entries(fields).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => [name, one] as const),
  )
  return html`${list.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`
}

/** The form that corrects the name or the address of a visitor: it makes a draft. */
import { randomUUID } from 'node:crypto'
import { maxLengths } from '../../../schema/operation-specs.ts'
import { attribute, type Html, html } from '../../values/html.ts'
import { type ColumnRules, isHash } from '../../values/private-columns.ts'
import { addressOf, section } from '../blocks.ts'
import type { ProjectFrame } from '../frame.ts'
import type { VisitorData } from '../sql/visitor.ts'
import { exactText, foreignText, timeOf } from '../text.ts'
import { hiddenFields } from '../writeback-blocks.ts'
import { type DraftProblem, problemNote } from './draft-form.ts'

export const correctedFields = ['name', 'email'] as const
type CorrectedField = (typeof correctedFields)[number]
export type Corrected = Readonly<Record<CorrectedField, string>>

/** As they are shown; null: there is none. One that is not stored, or not known, is absent. */
export function presentFields(
  { row }: Pick<VisitorData, 'row'>,
  rules: ColumnRules,
): { readonly [Field in CorrectedField]?: string | null } {
  const known = correctedFields.flatMap((field) => {
    const value = row?.[field] ?? null
    const isStored = rules.actionOf('visitors', field) === null && !isHash(value)
    return row !== null && isStored ? [[field, value]] : []
  })
  return Object.fromEntries(known)
}

export type CorrectionForm = {
  readonly visitor: VisitorData
  readonly rules: ColumnRules
  /**
   * Where the values come from: the service was asked just now, or why it could not be; null = the
   * mirror has had them.
   */
  readonly source: { readonly why: string | null } | null
  /** What the person has written. */
  readonly given: Corrected | null
  readonly problem: DraftProblem | null
}

export function correctionForm(input: CorrectionForm, frame: ProjectFrame): Html {
  const { visitor, rules, given, problem } = input
  const present = presentFields(visitor, rules)
  const at = visitor.row === null ? html`never` : timeOf(visitor.row.syncedAt, frame)
  const mirrored = html`“Now” is what the mirror read from the service: ${at}.`
  const source =
    input.source === null
      ? mirrored
      : input.source.why === null
        ? '“Now” is what the service shows.'
        : html`The service could not be asked: ${foreignText(input.source.why)}. ${mirrored}`
  const field = (name: CorrectedField, label: string, mode: 'text' | 'email') => {
    const value = present[name]
    const shown =
      value === undefined
        ? html`<span class="faint">${visitor.row === null ? 'not known' : 'not stored'}</span>`
        : value === null
          ? html`<span class="faint">none</span>`
          : exactText(value)
    return html`<label>${label}
<input inputmode="${mode}" name="${name}" ${attribute('autofocus', problem !== null && name === 'name')}
  maxlength="${String(maxLengths[name])}" autocomplete="off" aria-describedby="present-${name}"
  value="${given?.[name] ?? value ?? ''}"></label>
<p class="faint" id="present-${name}">Now: ${shown}</p>`
  }
  // What the person saw decides what has been changed; what is sent again has the same key.
  const seen = Object.entries(present).map(([name, value]) => [`seen_${name}`, value ?? ''])
  const hidden = hiddenFields({ key: randomUUID(), ...Object.fromEntries(seen) })
  const form = html`${problemNote(problem)}<form method="post" action="${addressOf(frame, 'visitors', visitor.id)}"
  class="stacked write">${hidden}
${field('name', 'Name', 'text')}
${field('email', 'E-mail', 'email')}
<p class="faint">${source} A field that you leave as it is stays; one that you empty is
  cleared.</p>
<div class="actions"><button type="submit" class="primary">Add to my
  drafts</button></div></form>`
  return html`<div id="correct">${section('Correct', form)}</div>`
}

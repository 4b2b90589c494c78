/**
 * Writing to a conversation: the form that makes a draft of a reply, a note or a flag, and who may
 * not use it.
 */
import { randomUUID } from 'node:crypto'
import { hasRole } from '../../config/people.ts'
import { replyNameOf } from '../../config/reply-settings.ts'
import { withQuery } from '../../values/address.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { fillTemplate, findPlaceholder, toTemplateValues } from '../../values/reply-template.ts'
import { addressOf, linkTo, section } from '../blocks.ts'
import { draftRole } from '../core/permissions.ts'
import type { ProjectFrame } from '../frame.ts'
import type { ConsoleProject } from '../project.ts'
import type { ConversationData } from '../sql/conversations.ts'
import { foreignText } from '../text.ts'
import { hiddenFields } from '../writeback-blocks.ts'

const labels = {
  reply: 'Reply',
  note: 'Visitor note',
  handled: 'Mark handled',
  reopen: 'Reopen',
} as const
type DraftKind = keyof typeof labels
export const draftKinds = Object.keys(labels) as readonly DraftKind[]

/** What a person wrote. */
export type Draft = {
  readonly kind: DraftKind
  readonly content: string
  readonly sender: string
  /** The reply, and after it the flag. */
  readonly andHandled: boolean
  readonly allowDuplicates: boolean
}

/** Why nothing was queued. `isRepeated`: the same words went to this conversation before. */
export type DraftProblem = { readonly text: string; readonly isRepeated: boolean }

/** Null: this person may write here. */
export function whyNoDraft({
  viewer,
  canDecide,
}: Pick<ProjectFrame, 'viewer' | 'canDecide'>): string | null {
  if (!canDecide) return 'Nothing can be written from here: writing to the service is switched off.'
  if (viewer === null || !hasRole(viewer.role, draftRole))
    return (
      `Replies, notes and flags are drafted here by people with the role ${draftRole}; yours ` +
      `is ${viewer?.role}.`
    )
  return viewer.hidesMessages ? 'Who may not read messages cannot answer them.' : null
}

/** Links: what a text becomes is seen, and may be changed, before anything is stored. */
function textChoices(id: string, texts: readonly string[], frame: ProjectFrame): Html {
  if (texts.length === 0) return nothing
  const address = addressOf(frame, 'conversations', id)
  const links = texts.map(
    (text) => html`<li><a href="${withQuery(address, { text })}#write">${text}</a></li>`,
  )
  return html`<details><summary>Begin with a text of the project</summary><ul>${links}</ul></details>`
}

/** Of a person, one a day. */
export function draftsTitle({ viewer, now, timeZone }: ProjectFrame): string {
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone }).format(
    now,
  )
  return `${viewer?.name}’s drafts, ${day}`
}

/** The form as it is opened: `text` names a text of the project, which is filled. */
export function beginDraft(
  { name, email, createdAt }: ConversationData,
  project: Pick<ConsoleProject, 'replies' | 'replyAs'>,
  frame: ProjectFrame,
  text: string | null = null,
) {
  const texts = Object.keys(project.replies)
  const person = frame.viewer?.name ?? ''
  const sender = replyNameOf(frame.people, project, person) ?? person
  const draft: Draft = {
    kind: 'reply',
    content: '',
    sender,
    andHandled: false,
    allowDuplicates: false,
  }
  const template = text !== null && texts.includes(text) ? project.replies[text] : undefined
  if (template === undefined) return { draft, problem: null, texts }
  const known = toTemplateValues({ name, email, createdAt }, frame.timeZone)
  const { content, missing } = fillTemplate(template, { ...known, sender })
  const why = `The mirror does not know ${missing.join(' and ')} of this visitor: write it out.`
  const problem = missing.length === 0 ? null : { text: why, isRepeated: false }
  return { draft: { ...draft, content }, problem, texts }
}

/** A placeholder that a visitor would read as it is; null: there is none. */
export function describeUnfilled({ kind, content }: Draft): string | null {
  const found = kind === 'reply' ? findPlaceholder(content) : undefined
  if (found === undefined) return null
  return `The text still has ${found}, which the visitor would see: replace it.`
}

/** `joined`: the batch in which the draft is that was just made; null: none was. */
export function draftedNote(joined: string | null, effect: string, frame: ProjectFrame): Html {
  if (joined === null) return nothing
  return html`<p class="fine" role="status">Added to
    ${linkTo(frame, 'batches', joined, draftsTitle(frame))}: ${effect} before it is approved.</p>`
}

export function problemNote(problem: DraftProblem | null): Html {
  if (problem === null) return nothing
  return html`<p class="problem" role="alert">Nothing was queued. ${foreignText(problem.text)}</p>`
}

/** `joined`: see `draftedNote`. */
export function draftForm(
  { id, visitorId, handledAt, messages }: ConversationData,
  given: {
    readonly draft: Draft
    readonly problem: DraftProblem | null
    readonly joined: string | null
    /** The texts of the project that are used again, by name. */
    readonly texts: readonly string[]
  },
  frame: ProjectFrame,
): Html {
  const why = whyNoDraft(frame)
  if (why !== null) return html`<p class="faint">${why}</p>`
  const { draft, problem, joined, texts } = given
  const kinds = (['reply', 'note', handledAt === null ? 'handled' : 'reopen'] as const).filter(
    (kind) => kind !== 'note' || visitorId !== null,
  )
  const chosen = kinds.find((kind) => kind === draft.kind) ?? 'reply'
  const choice = (kind: DraftKind) =>
    html`<label><input type="radio" name="kind" value="${kind}"
      ${attribute('checked', kind === chosen)}> ${labels[kind]}</label>`
  const check = (name: string, label: string, isChecked: boolean) =>
    html`<label class="check ${name}"><input type="checkbox" name="${name}" value="yes"
      ${attribute('checked', isChecked)}> ${label}</label>`
  // What is sent again, by a second click or by going back, has the same key, and is queued once.
  const hidden = hiddenFields({
    key: randomUUID(),
    expect: messages.findLast(({ isDeleted }) => !isDeleted)?.id ?? '',
  })
  const form = html`${draftedNote(joined, 'nobody receives it', frame)}${problemNote(problem)}
<form method="post" action="${addressOf(frame, 'conversations', id)}" class="stacked write" ${attribute('data-write', true)}>${hidden}
<fieldset class="choices"><legend>Kind of draft</legend>${kinds.map(choice)}</fieldset>
${textChoices(id, texts, frame)}
<label class="words">Text
<textarea name="content" rows="5" maxlength="20000" ${attribute('autofocus', problem !== null)}>
${draft.content}</textarea></label>
<label class="sender">Name that the visitor sees
<input name="sender" maxlength="300" autocomplete="off" value="${draft.sender}"></label>
${check('andHandled', 'Then mark the conversation handled', draft.andHandled)}
${problem?.isRepeated === true || draft.allowDuplicates ? check('allowDuplicates', 'Send the same words once more', draft.allowDuplicates) : nothing}
<div class="actions"><button type="submit" class="primary">Add to my drafts</button><kbd class="faint" ${attribute('data-submit-key', true)} ${attribute('hidden', true)}>Ctrl+Enter</kbd></div>
<p class="faint">A draft in “${draftsTitle(frame)}”: nobody receives anything before it is approved. If the visitor writes before then, the review says so and it is not sent.</p></form>`
  return html`<div id="write">${section('Write', form)}</div>`
}

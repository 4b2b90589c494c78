/** Rows of an import that name a text of `replies` in place of their own. Pure. */
import { type RequestMistake, toMistake } from '../outbox/core/writeback-request.ts'
import { fillTemplate, type TemplateValues } from '../values/reply-template.ts'

/** Of what a row asks for: the words, or why there are none. */
export type FillReply = (wanted: {
  readonly template: string
  readonly conversation: string
  readonly sender: string | null
}) => { readonly content: string } | { readonly mistake: RequestMistake }

/** The fields with the words of the text; or why there are none. */
export function withFilledReply(
  fields: Readonly<Record<string, unknown>>,
  fill: FillReply | undefined,
) {
  const { template, ...others } = fields
  const mistaken = (why: string) => ({ fields, mistake: toMistake('template', why, template) })
  if (template === undefined || template === null) return { fields, mistake: null }
  if (others['operation'] !== 'message') return mistaken('is not a field of this operation')
  if (others['content'] !== undefined)
    return mistaken('is given besides content: leave one of the two out')
  const sender = others['sender_name']
  const filled = fill?.({
    template: String(template).trim(),
    conversation: String(others['conversation_id'] ?? '').toLowerCase(),
    sender: typeof sender === 'string' ? sender : null,
  }) ?? { mistake: unknownText(template) }
  return 'mistake' in filled
    ? { fields, mistake: filled.mistake }
    : { fields: { ...others, content: filled.content }, mistake: null }
}

const unknownText = (template: unknown) =>
  toMistake('template', 'is not a name in `replies` of the configuration', template)

/** `values`: of the conversation, by the mirror; null: it does not have it. */
export function fillReply(
  texts: Readonly<Record<string, string>>,
  { template, sender }: Parameters<FillReply>[0],
  values: Omit<TemplateValues, 'sender'> | null,
): ReturnType<FillReply> {
  const text = Object.hasOwn(texts, template) ? texts[template] : undefined
  if (text === undefined) return { mistake: unknownText(template) }
  const known = values ?? { name: null, email: null, date: null }
  const { content, missing } = fillTemplate(text, { ...known, sender })
  if (missing.length === 0) return { content }
  const why = `has ${missing.join(' and ')}, which the mirror does not know of this visitor`
  return { mistake: toMistake('template', why, template) }
}

/** The settings of replies: texts that are used again, and the name that the visitor sees. */
import { z } from 'zod'
import { maxLengths } from '../../schema/operation-specs.ts'
import { isSamePerson } from '../values/person-name.ts'
import { templateProblem } from '../values/reply-template.ts'

const textName = /^[\p{L}\p{N}][\p{L}\p{N} _.-]{0,59}$/u

const help = 'write a map of names and texts, like { thanks: "Dear {{name}}, …" }'

/** By name. */
export const repliesField = z
  .record(
    z.string().regex(textName, 'is not a name for a text: use letters, digits and spaces'),
    z
      .string({ error: 'write a text' })
      .max(maxLengths.content, 'is too long')
      .superRefine((text, context) => {
        const message = text.trim() === '' ? 'is empty' : templateProblem(text)
        if (message !== undefined) context.addIssue({ code: 'custom', message })
      }),
    { error: help },
  )
  .transform((texts): Readonly<Record<string, string>> => texts)

export const replyAsField = z
  .string({ error: 'write the name that visitors see' })
  .trim()
  .min(1, 'write the name that visitors see')
  .max(maxLengths.name, 'is too long')

/** The name that visitors see of this person's replies: the person's own, or the project's. */
export function replyNameOf(
  people: readonly { readonly name: string; readonly replyAs?: string | null }[],
  project: { readonly replyAs: string | null },
  person: string,
): string | null {
  return people.find(({ name }) => isSamePerson(name, person))?.replyAs ?? project.replyAs
}

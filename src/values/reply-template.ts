/** Texts of replies that are used again, with placeholders such as `{{name}}`. Pure. */

import { localDateAt } from './days.ts'
import { isHash } from './private-columns.ts'
import { parseTime } from './time.ts'

/** What each stands for. */
const placeholders = {
  name: "the visitor's name",
  email: "the visitor's address",
  date: 'the day on which the conversation began',
  sender: 'the name that the visitor sees',
} as const

/** Null: not known. */
export type TemplateValues = Readonly<Record<keyof typeof placeholders, string | null>>

/** By the visitor and the conversation; a hash is not what it stands for. */
export function toTemplateValues(
  { name, email, createdAt }: Readonly<Record<'name' | 'email' | 'createdAt', string | null>>,
  timeZone: string,
) {
  const begun = parseTime(createdAt)
  return {
    name: isHash(name) ? null : name,
    email: isHash(email) ? null : email,
    date: begun === undefined ? null : localDateAt(begun, timeZone),
  }
}

const marks = /\{\{([^{}]{1,40})\}\}/g

const isPlaceholder = (name: string): name is keyof TemplateValues =>
  Object.hasOwn(placeholders, name)

/** Undefined: it can be filled. */
export function templateProblem(text: string): string | undefined {
  const unknown = [...text.matchAll(marks)].find(([, name = '']) => !isPlaceholder(name.trim()))
  const known = Object.keys(placeholders).map((name) => `{{${name}}}`)
  if (unknown === undefined && !/\{\{|\}\}/.test(text.replaceAll(marks, ''))) return undefined
  return `has an unknown placeholder: there are ${known.join(', ')}`
}

/** `missing`: the placeholders without a value, which stay in the text. */
export function fillTemplate(text: string, values: TemplateValues) {
  const missing = new Set<string>()
  const content = text.replaceAll(marks, (mark, inner: string) => {
    const name = inner.trim()
    const value = isPlaceholder(name) ? values[name] : null
    if (value === null || value.trim() === '') missing.add(`{{${name}}}`)
    else return value
    return mark
  })
  return { content, missing: [...missing] }
}

/** The first placeholder in a text that a customer would read as it is; undefined: there is none. */
export function findPlaceholder(text: string): string | undefined {
  return [...text.matchAll(marks)].find(([, name = '']) => isPlaceholder(name.trim()))?.[0]
}

/** People: their names, who may do what in the console, and the setting that names them. */
import { z } from 'zod'
import { isSamePerson } from '../values/person-name.ts'
import type { Secret } from '../values/secret.ts'
import { replyAsField } from './reply-settings.ts'
import { deferSecretErrors, type ReadSecret, secretField } from './secret-fields.ts'
import type { Setting } from './setting.ts'

/** Each may do what the ones before it may. */
export const roles = ['viewer', 'operator', 'approver'] as const
export type Role = (typeof roles)[number]

export const hasRole = (role: Role, needed: Role): boolean =>
  roles.indexOf(role) >= roles.indexOf(needed)

export type Viewer = {
  readonly name: string
  readonly role: Role
  /** The words of messages, and names and addresses of visitors, are not shown. */
  readonly hidesMessages: boolean
}

const maxLength = 100

/**
 * As decisions are stored. Spaces that look alike are one. Undefined if it is empty, longer than
 * 100 characters, or contains what cannot be seen.
 */
export function parsePersonName(text: string): string | undefined {
  const name = text
    .normalize('NFC')
    .replace(/\p{Zs}+/gu, ' ')
    .replace(/^ | $/g, '')
  const isVisible =
    name.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(name)
  return name !== '' && name.length <= maxLength && isVisible ? name : undefined
}

/** `replyAs`: the name that visitors see; null: that of the project. */
type ConsolePerson = Viewer & { readonly token: Secret; readonly replyAs: string | null }

const noToken = 'must have a token: { env: NAME } or { file: PATH }'

/** Written as `--as` and decisions have it, as these are compared. */
const nameOfPerson = z
  .string({ error: 'name the person' })
  .transform((text) => parsePersonName(text) ?? '')
  .pipe(z.string().min(1, 'name the person').max(60, 'is too long'))

/** Only the worker needs the tokens, so only `reveal` throws (UserError). */
const personField = (read: ReadSecret) =>
  z
    .strictObject(
      {
        name: nameOfPerson,
        role: z.enum(roles, { error: 'must be viewer, operator or approver' }),
        token: secretField(deferSecretErrors(read), noToken),
        messages: z
          .enum(['shown', 'hidden'], { error: 'must be shown or hidden' })
          .default('shown'),
        reply_as: replyAsField.optional(),
      },
      { error: 'must be a person, like { name: ann, role: approver, token: { env: ANN_TOKEN } }' },
    )
    .transform(
      ({ messages, reply_as: replyAs = null, ...person }): ConsolePerson => ({
        ...person,
        replyAs,
        hidesMessages: messages === 'hidden',
      }),
    )

/** The settings below `console`. */
const consoleField = (read: ReadSecret) =>
  z
    .strictObject(
      { people: z.array(personField(read), { error: 'must be a list of people' }).default([]) },
      {
        error:
          'must be a map, like { people: [{ name: ann, role: approver, ' +
          'token: { env: ANN_TOKEN } }] }',
      },
    )
    .superRefine(({ people }, context) => {
      for (const [index, { name }] of people.entries()) {
        if (people.findIndex((other) => isSamePerson(other.name, name)) === index) continue
        context.addIssue({
          code: 'custom',
          message: 'is the name of two people',
          path: ['people', index, 'name'],
        })
      }
    })
    .prefault({})

export const consoleSetting: Setting<{ readonly people: readonly ConsolePerson[] }> = {
  name: 'console',
  about:
    'Who may sign in to the console: `{ people: [{ name: ann, role: approver, token: { env: ' +
    'ANN_TOKEN } }] }`, with role `viewer`, `operator` or `approver`. `messages: hidden`: the ' +
    'person sees no words, names or addresses. `reply_as: Ann`: the name that visitors see.',
  variable: null,
  isSensitive: true,
  field: consoleField,
}

/** Letters that look like Latin ones, from Unicode's list of confusable characters. */
const pairs =
  'аa бb вb гr дa еe зe иu іi їi јj кk ӏl мm нh оo пn рp сc тt уy фo хx чy шw ьb эe ԁd һh ' +
  'ѕs ԛq ԝw яr αa βb γy εe ηn ιi κk μu νv οo ρp σo τt υu χx ωw ԍg ոn օo սu հh ıi ɑa ɡg øo ' +
  'đd łl ħh ŧt ßb æa œo'
const latinOf = new Map(pairs.split(' ').map(([letter = '', latin = '']) => [letter, latin]))

/**
 * Letters that this list does not know may look like anything, so beside people such a name is
 * refused as well.
 */
export function looksLike(name: string, person: string): boolean {
  const shown = skeleton(name)
  const other = skeleton(person)
  return shown === other || shown === '' || /[^\x20-\x7e]/.test(shown)
}

/** A name without marks, spaces and signs, in which what looks alike is the same. */
function skeleton(name: string): string {
  const letters = name
    .normalize('NFKD')
    .replace(/[\p{M}\p{Default_Ignorable_Code_Point}\p{Z}\p{C}\p{P}]/gu, '')
    .toLowerCase()
  const latin = Array.from(letters, (letter) => latinOf.get(letter) ?? letter).join('')
  return latin
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replace(/[i1|]/g, 'l')
    .replaceAll('0', 'o')
}

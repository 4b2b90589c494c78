/** The settings below `console`: the people who may sign in. */
import { z } from 'zod'
import { type Role, roles } from '../core/console/roles.ts'
import type { Secret } from '../core/secret.ts'
import { deferSecretErrors, type ReadSecret, secretField } from './secret-fields.ts'
import type { Setting } from './setting.ts'

export type ConsoleSettings = { readonly people: readonly ConsolePerson[] }

type ConsolePerson = {
  readonly name: string
  readonly role: Role
  readonly token: Secret
  readonly hidesMessages: boolean
}

const noToken = 'must have a token: { env: NAME } or { file: PATH }'

const personName = z.string({ error: 'name the person' }).trim().min(1, 'name the person').max(60, 'is too long')

/** Only the worker needs the tokens, so only `reveal` throws (UserError). */
const personField = (read: ReadSecret) =>
  z
    .strictObject(
      {
        name: personName,
        role: z.enum(roles, { error: 'must be viewer, operator or approver' }),
        token: secretField(deferSecretErrors(read), noToken),
        messages: z.enum(['shown', 'hidden'], { error: 'must be shown or hidden' }).default('shown'),
      },
      { error: 'must be a person, like { name: ann, role: approver, token: { env: ANN_TOKEN } }' },
    )
    .transform(({ messages, ...person }): ConsolePerson => ({ ...person, hidesMessages: messages === 'hidden' }))

const consoleField: Setting<ConsoleSettings>['field'] = (read) =>
  z
    .strictObject(
      { people: z.array(personField(read), { error: 'must be a list of people' }).default([]) },
      { error: 'must be a map, like { people: [{ name: ann, role: approver, token: { env: ANN_TOKEN } }] }' },
    )
    .superRefine(({ people }, context) => {
      for (const [index, { name }] of people.entries()) {
        if (people.findIndex((other) => other.name.toLowerCase() === name.toLowerCase()) === index) continue
        context.addIssue({ code: 'custom', message: 'is the name of two people', path: ['people', index, 'name'] })
      }
    })
    .prefault({})

export const consoleSetting: Setting<ConsoleSettings> = {
  name: 'console',
  variable: null,
  isSensitive: true,
  field: consoleField,
}

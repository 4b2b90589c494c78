/** Secrets as settings: the file holds a reference, and the secret is read from its place. */
import { z } from 'zod'
import { type Secret, secret } from '../values/secret.ts'
import { passwordsInUrl } from '../values/server-address.ts'
import { UserError } from '../values/user-error.ts'
import { containsApiKey } from './problems.ts'

export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
])

/** What a reference points to: one secret, or all that a variable holds; or why not. */
export type ReadSecret = (
  reference: z.infer<typeof secretReference>,
  many?: 'several',
) => Secrets | UnreadableSecret
type Secrets = readonly [Secret, ...Secret[]]
export type UnreadableSecret = { readonly why: string }

/** Refuses a literal without repeating it. `missing`: what to say if there is none. */
export function secretField(readSecret: ReadSecret, missing = missingKey) {
  return z.unknown().transform((value, context): Secret => {
    if (value === undefined) return addIssue({ why: missing }, context)
    const found = resolveSecret(value, readSecret)
    return 'why' in found ? addIssue(found, context) : found[0]
  })
}

/** One reference, or several: while a secret is replaced, the old and the new one are valid. */
export function secretsField(readSecret: ReadSecret) {
  return z.unknown().transform((value, context): readonly Secret[] => {
    const found = [value].flat().map((reference) => resolveSecret(reference, readSecret, 'several'))
    return found.flatMap((secrets) => ('why' in secrets ? addIssue(secrets, context) : secrets))
  })
}

export const writeReference =
  'keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'

export const plainPassword = `contains a password: ${writeReference}`

/** Also a password that no valid URL can hold, because of a `/` or a space in it. */
export function containsPassword(text: string): boolean {
  const user = text.slice(text.indexOf('://') + 3, Math.max(0, text.lastIndexOf('@')))
  return (text.includes('://') && user.includes(':')) || passwordsInUrl(text).length > 0
}

/** For commands that only read the mirror: a missing secret is an error only when it is used. */
export function deferSecretErrors(read: ReadSecret): ReadSecret {
  return (reference, several) => {
    const secrets = read(reference, several)
    if (!('why' in secrets)) return secrets
    const why = `its setting ${secrets.why}`
    const reveal = () => {
      throw new UserError({ what: 'a secret is needed', why, next: 'set it there' })
    }
    return [{ ...secret(''), reveal }]
  }
}

/** Empty: no secret, or one that cannot be read here, which cannot be printed either. */
export function revealIfReadable(value: unknown): readonly string[] {
  try {
    return isSecret(value) ? [value.reveal()] : []
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

const isSecret = (value: unknown): value is Secret =>
  typeof value === 'object' && value !== null && 'reveal' in value

/**
 * The secrets in a text. A key is sent in a header, so each is one line of visible characters; a
 * trailing line break belongs to the file.
 */
export function parseSecrets(
  text: string,
  source: string,
  many?: 'several',
): Secrets | UnreadableSecret {
  const [first, ...others] = many === 'several' ? splitSecrets(text) : [text.trim()]
  if (first === undefined || first === '') return { why: `points to ${source}, which is empty` }
  if (![first, ...others].every((value) => /^[\x21-\x7e]+$/.test(value)))
    return {
      why: `points to ${source}, which contains a space, a line break or a character that no key has`,
    }
  return [secret(first), ...others.map(secret)]
}

/** At commas and white space. As a secret may contain a comma, the whole text is one, too. */
function splitSecrets(text: string): string[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  const whole = text.trim()
  return parts.length === 0 || /\s/.test(whole) ? parts : [...new Set([whole, ...parts])]
}

function resolveSecret(
  value: unknown,
  readSecret: ReadSecret,
  many?: 'several',
): Secrets | UnreadableSecret {
  const reference = secretReference.safeParse(value)
  if (!reference.success) return { why: referenceProblem(value) }
  return containsApiKey(JSON.stringify(reference.data))
    ? { why: keyInsteadOfReference }
    : readSecret(reference.data, many)
}

const keyInsteadOfReference =
  'contains an API key instead of the name of a variable or the path of a file'

function addIssue({ why }: UnreadableSecret, context: z.RefinementCtx): never {
  context.addIssue({ code: 'custom', message: why })
  return z.NEVER
}

const missingKey = "the project's API key, created in the app under Settings > API keys"

function referenceProblem(value: unknown): string {
  if (value === undefined) return missingKey
  return typeof value === 'string'
    ? `contains the secret itself: ${writeReference}`
    : `is not a reference to a secret: ${writeReference}`
}

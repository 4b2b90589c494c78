/** Secrets as settings: never written down, but named, and read from where they are kept. */
import { z } from 'zod'
import { type Secret, secret } from '../core/secret.ts'
import { UserError } from '../core/user-error.ts'
import { containsApiKey } from './redaction.ts'

export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
])
export type SecretReference = z.infer<typeof secretReference>

/** Reads what a reference names: one secret, or as many as a variable holds. Or says why that was not possible. */
export type ReadSecret = (reference: SecretReference, many?: 'several') => Secrets | UnreadableSecret
export type Secrets = readonly [Secret, ...Secret[]]
export type UnreadableSecret = { readonly why: string }

/** Resolves a reference; refuses a literal without repeating it. */
export function secretField(readSecret: ReadSecret) {
  return z.unknown().transform((value, context): Secret => {
    const found = resolveSecret(value, readSecret)
    return 'why' in found ? addIssue(found, context) : found[0]
  })
}

/** One reference or a list of them, as a secret that is exchanged is there twice for a while. */
export function secretsField(readSecret: ReadSecret) {
  return z.unknown().transform((value, context): readonly Secret[] => {
    const found = [value].flat().map((one) => resolveSecret(one, readSecret, 'several'))
    return found.flatMap((secrets) => ('why' in secrets ? addIssue(secrets, context) : secrets))
  })
}

/** For commands that only read the mirror: a secret that is missing is trouble only if somebody asks for it after all. */
export function deferSecretErrors(read: ReadSecret): ReadSecret {
  return (reference, several) => {
    const secrets = read(reference, several)
    if (!('why' in secrets)) return secrets
    const reveal = () => {
      throw new UserError({ what: 'a secret is needed', why: `it ${secrets.why}`, next: 'set it there', exitCode: 2 })
    }
    return [{ ...secret(''), reveal }]
  }
}

/**
 * The secrets in a text: a key travels in a header, so each is one line of visible characters. A line break at the end is
 * a file's, not the key's.
 */
export function parseSecrets(text: string, source: string, many?: 'several'): Secrets | UnreadableSecret {
  const [first, ...others] = many === 'several' ? splitSecrets(text) : [text.trim()]
  if (first === undefined || first === '') return { why: `is to come from ${source}, which is empty` }
  if (![first, ...others].every((value) => /^[\x21-\x7e]+$/.test(value))) {
    return { why: `comes from ${source}, which holds a space, a line break or a letter that no key has` }
  }
  return [secret(first), ...others.map(secret)]
}

/** Between commas or white space. As a comma may also belong to a secret, the whole is one of them, too. */
function splitSecrets(text: string): string[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  const whole = text.trim()
  return parts.length === 0 || /\s/.test(whole) ? parts : [...new Set([whole, ...parts])]
}

function resolveSecret(value: unknown, readSecret: ReadSecret, many?: 'several'): Secrets | UnreadableSecret {
  const reference = secretReference.safeParse(value)
  if (!reference.success) return { why: referenceProblem(value) }
  return containsApiKey(JSON.stringify(reference.data)) ? { why: keyInsteadOfReference } : readSecret(reference.data, many)
}

const keyInsteadOfReference = 'holds an API key itself, where the name of a variable or the path of a file belongs'

function addIssue({ why }: UnreadableSecret, context: z.RefinementCtx): never {
  context.addIssue({ code: 'custom', message: why })
  return z.NEVER
}

function referenceProblem(value: unknown): string {
  if (value === undefined) return "the project's API key, made in the app under Settings > API keys"
  const instead = 'keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'
  return typeof value === 'string' ? `holds the secret itself: ${instead}` : `is no reference to a secret: ${instead}`
}

/** Secrets as settings: never written down, but named, and read from where they are kept. */
import { z } from 'zod'
import { type Secret, secret } from '../core/secret.ts'
import { UserError } from '../core/user-error.ts'
import { holdsKey } from './shown.ts'

export const secretReference = z.union([
  z.strictObject({ env: z.string().min(1) }),
  z.strictObject({ file: z.string().min(1) }),
])
export type SecretReference = z.infer<typeof secretReference>

/** Reads what a reference names: one secret, or as many as a variable holds. Or says why that was not possible. */
export type ReadSecret = (reference: SecretReference, many?: 'several') => Secrets | Unread
export type Secrets = readonly [Secret, ...Secret[]]
export type Unread = { readonly why: string }

/** Resolves a reference; refuses a literal without repeating it. */
export function secretField(read: ReadSecret) {
  return z.unknown().transform((value, context): Secret => {
    const found = resolve(value, read)
    return 'why' in found ? refuse(found, context) : found[0]
  })
}

/** One reference or a list of them, as a secret that is exchanged is there twice for a while. */
export function secretsField(read: ReadSecret) {
  return z.unknown().transform((value, context): readonly Secret[] => {
    const found = [value].flat().map((one) => resolve(one, read, 'several'))
    return found.flatMap((secrets) => ('why' in secrets ? refuse(secrets, context) : secrets))
  })
}

/** For commands that only read the mirror: a secret that is missing is trouble only if somebody asks for it after all. */
export function onDemand(read: ReadSecret): ReadSecret {
  return (reference, many) => {
    const found = read(reference, many)
    if (!('why' in found)) return found
    const reveal = () => {
      throw new UserError({ what: 'a secret is needed', why: `it ${found.why}`, next: 'set it there', exitCode: 2 })
    }
    return [{ ...secret(''), reveal }]
  }
}

/**
 * The secrets in a text: a key travels in a header, so each is one line of visible characters. A line break at the end is
 * a file's, not the key's.
 */
export function secretsFrom(text: string, source: string, many?: 'several'): Secrets | Unread {
  const [first, ...others] = many === 'several' ? separate(text) : [text.trim()]
  if (first === undefined || first === '') return { why: `is to come from ${source}, which is empty` }
  if (![first, ...others].every((value) => /^[\x21-\x7e]+$/.test(value))) {
    return { why: `comes from ${source}, which holds a space, a line break or a letter that no key has` }
  }
  return [secret(first), ...others.map(secret)]
}

/** Between commas or white space. As a comma may also belong to a secret, the whole is one of them, too. */
function separate(text: string): string[] {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '')
  const whole = text.trim()
  return parts.length === 0 || /\s/.test(whole) ? parts : [...new Set([whole, ...parts])]
}

function resolve(value: unknown, read: ReadSecret, many?: 'several'): Secrets | Unread {
  const reference = secretReference.safeParse(value)
  if (!reference.success) return { why: wrongReference(value) }
  return holdsKey(JSON.stringify(reference.data)) ? { why: keyItself } : read(reference.data, many)
}

const keyItself = 'holds an API key itself, where the name of a variable or the path of a file belongs'

function refuse({ why }: Unread, context: z.RefinementCtx): never {
  context.addIssue({ code: 'custom', message: why })
  return z.NEVER
}

function wrongReference(value: unknown): string {
  if (value === undefined) return "the project's API key, made in the app under Settings > API keys"
  const instead = 'keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'
  return typeof value === 'string' ? `holds the secret itself: ${instead}` : `is no reference to a secret: ${instead}`
}

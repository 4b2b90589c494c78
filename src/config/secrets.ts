/** Collects every secret of the configuration, to redact them from output. */
import type { Secret } from '../core/secret.ts'
import { passwordsInUrl } from '../core/server-url.ts'
import { UserError } from '../core/user-error.ts'
import type { Config } from './config.ts'

export function collectSecrets(
  config: Pick<Config, 'projects' | 'httpToken' | 'databaseUrl' | 'queueUrl'>,
): readonly string[] {
  const { projects, httpToken, databaseUrl, queueUrl } = config
  const all = [httpToken, ...projects.flatMap(({ apiKey, webhookSecrets }) => [apiKey, ...webhookSecrets])]
  const addresses = [databaseUrl, queueUrl].filter((text) => text.includes('://'))
  const passwords = [...addresses, ...addresses.flatMap(passwordsInUrl).filter(isNotPlainWord)]
  return [...all.flatMap((secret) => (secret === null ? [] : revealIfReadable(secret))), ...passwords]
}

/** A password that is a plain word, like `postgres`, would redact that word in every line of the log. */
function isNotPlainWord(password: string): boolean {
  return !/^[a-z]*$/.test(password)
}

/** A secret that could not be read cannot be printed either. */
function revealIfReadable(secret: Secret): readonly string[] {
  try {
    return [secret.reveal()]
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

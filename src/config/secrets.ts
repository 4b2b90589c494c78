/** Every secret that the configuration holds, for whoever has to keep them out of what is printed. */
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

/** Whoever takes `postgres` for a password would lose the word in every line of the log. */
function isNotPlainWord(password: string): boolean {
  return !/^[a-z]*$/.test(password)
}

/** A secret that could not be read is known to nobody here, so nobody can print it. */
function revealIfReadable(secret: Secret): readonly string[] {
  try {
    return [secret.reveal()]
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

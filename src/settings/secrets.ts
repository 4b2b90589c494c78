/** Every secret that the configuration holds, for whoever has to keep them out of what is printed. */
import type { Secret } from '../core/secret.ts'
import { UserError } from '../core/user-error.ts'
import type { Config } from './settings.ts'

export function secretsIn({ projects, httpToken }: Pick<Config, 'projects' | 'httpToken'>): readonly string[] {
  const all = [httpToken, ...projects.flatMap(({ apiKey, webhookSecrets }) => [apiKey, ...webhookSecrets])]
  return all.flatMap((secret) => (secret === null ? [] : revealed(secret)))
}

/** A secret that could not be read is known to nobody here, so nobody can print it. */
function revealed(secret: Secret): readonly string[] {
  try {
    return [secret.reveal()]
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

/** Collects every secret of the configuration, to redact them from output. */
import type { Secret } from '../values/secret.ts'
import { passwordsInUrl } from '../values/server-url.ts'
import { UserError } from '../values/user-error.ts'
import type { Config } from './config.ts'
import { globalSettings } from './program-settings.ts'
import { projectSettings } from './project-settings.ts'
import type { Settings } from './setting.ts'

export function collectSecrets(config: Omit<Config, 'warnings'>): readonly string[] {
  const ofProjects = config.projects.flatMap((project) => sensitiveValues(projectSettings, project))
  const tokens = config.console.people.map(({ token }) => token)
  const values = [...sensitiveValues(globalSettings, config), ...ofProjects, ...tokens]
  const addresses = values.filter((value) => typeof value === 'string').filter((text) => text.includes('://'))
  const passwords = addresses.flatMap(passwordsInUrl).filter(isNotPlainWord)
  return [...values.flatMap(revealIfReadable), ...addresses, ...passwords]
}

function sensitiveValues(settings: Settings, values: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Object.entries(settings).flatMap(([key, { isSensitive }]) => (isSensitive ? values[key] : []))
}

/** A password that is a plain word, like `postgres`, would redact that word in every line of the log. */
function isNotPlainWord(password: string): boolean {
  return !/^[a-z]*$/.test(password)
}

/** A secret that could not be read cannot be printed either. Addresses of the service hold none. */
function revealIfReadable(value: unknown): readonly string[] {
  try {
    return isSecret(value) ? [value.reveal()] : []
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}

function isSecret(value: unknown): value is Secret {
  return typeof value === 'object' && value !== null && 'reveal' in value
}

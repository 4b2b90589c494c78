/** The configuration as the program gets it: its types, its defaults, what a change needs. */
import { isDeepStrictEqual } from 'node:util'
import { isLoopback, passwordsInUrl } from '../values/server-address.ts'
import type { EpochMs } from '../values/time.ts'
import { analyticsSettings } from './analytics-settings.ts'
import { ConfigurationError } from './problems.ts'
import { type GlobalConfig, globalSettings } from './program-settings.ts'
import { type ProjectSettings, projectSettings } from './project-settings.ts'
import { withScheme } from './proxy.ts'
import { defaultSchedules } from './schedules.ts'
import { revealIfReadable } from './secret-fields.ts'
import { defaultsOf, type Settings } from './setting.ts'

/**
 * `readOnly`: that of `Config`, repeated so that every caller of the service has it. `loadedAt`: of
 * two processes with other `columns`, the later one decides.
 */
export type ProjectConfig = ProjectSettings &
  Pick<GlobalConfig, 'readOnly'> & { readonly loadedAt: EpochMs }

export type Config = GlobalConfig & {
  readonly projects: readonly ProjectConfig[]
  /**
   * What it is read from, even if missing: `.env`, `deskmirror.yaml`, files of secrets, and those
   * that drivers read.
   */
  readonly files: readonly string[]
  /** Likely mistakes that stop nothing: variables that nothing reads. */
  readonly warnings: readonly string[]
}

/** A project with the default of what `own` leaves out, for the demo, tests and benchmarks. */
export function defaultProject(
  own: Pick<ProjectConfig, 'name' | 'projectId' | 'baseUrl' | 'apiKey'> & Partial<ProjectConfig>,
): ProjectConfig {
  const analytics = defaultsOf(analyticsSettings, {})
  return {
    ...defaultsOf(projectSettings, own),
    schedules: defaultSchedules,
    analytics,
    readOnly: false,
    loadedAt: Date.now(),
    ...own,
  }
}

/** The same for the whole configuration. */
export function defaultConfig(own: Pick<Config, 'projects'> & Partial<Config>): Config {
  return {
    ...defaultsOf(globalSettings, own),
    logLevelChosen: 'logLevel' in own,
    files: [],
    warnings: [],
    ...own,
  }
}

/** The settings, by their names in the file, whose changes a running worker cannot apply. */
export function settingsNeedingRestart(before: Config, after: Config): readonly string[] {
  const { readOnly, console, lake, ...needRestart } = globalSettings
  const comparable = (config: Config, key: keyof Config) =>
    key === 'httpToken' || key === 'metricsToken' ? config[key]?.reveal() : config[key]
  return (Object.keys(needRestart) as (keyof typeof needRestart)[])
    .filter((key) => !isDeepStrictEqual(comparable(before, key), comparable(after, key)))
    .map((key) => needRestart[key].name)
}

/**
 * The address to listen at, and who can reach it: this machine only, or others with a token; null =
 * HTTP is off. Throws ConfigurationError if other machines can reach the address and there is no
 * token, and UserError if the token cannot be read. Only `start` calls it.
 */
export function resolveHttpExposure(config: Pick<Config, 'http' | 'httpToken' | 'metricsToken'>) {
  const { http, httpToken, metricsToken } = config
  if (http === null) return null
  httpToken?.reveal()
  metricsToken?.reveal()
  if (httpToken !== null || isLoopback(http.host))
    return { ...http, token: httpToken, metricsToken }
  const where = 'DESKMIRROR_HTTP (`http` in deskmirror.yaml)'
  const instead = 'set DESKMIRROR_HTTP_TOKEN, listen on 127.0.0.1, or turn HTTP off'
  throw new ConfigurationError([
    { where, why: `is open to other machines without a token: ${instead}` },
  ])
}

export function collectSecrets(config: Omit<Config, 'warnings' | 'files'>): readonly string[] {
  const ofProjects = config.projects.flatMap((project) => sensitiveValues(projectSettings, project))
  const tokens = config.console.people.map(({ token }) => token)
  const proxies = config.projects.map(({ proxy }) => proxy?.address)
  const values = [...sensitiveValues(globalSettings, config), ...ofProjects, ...tokens]
  const addresses = [...values, ...proxies.flatMap(revealIfReadable).map(withScheme)]
    .filter((value) => typeof value === 'string')
    .filter((text) => text.includes('://'))
  // A password that is a plain word, like `postgres`, would redact that word in every line of the
  // log.
  const passwords = addresses
    .flatMap(passwordsInUrl)
    .filter((password) => !/^[a-z]*$/.test(password))
  return [...values.flatMap(revealIfReadable), ...addresses, ...passwords]
}

function sensitiveValues(
  settings: Settings,
  values: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  return Object.entries(settings).flatMap(([key, { isSensitive }]) =>
    isSensitive ? values[key] : [],
  )
}

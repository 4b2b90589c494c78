/** The environment variables, by the setting that each one fills. */
import type { Setting } from './setting.ts'

export type Variables = Readonly<Record<string, string | undefined>>

export const variablePrefix = 'DESKMIRROR_'

/** `rate` → `DESKMIRROR_RATE`, `schedules.analytics` → `DESKMIRROR_SCHEDULE_ANALYTICS`. */
export function variableName(setting: string): string {
  return `${variablePrefix}${setting.replace(/^schedules\./, 'schedule_').toUpperCase()}`
}

/** What variables give for these settings: the values, or references to the secrets. */
export function readVariables(
  variables: Variables,
  settings: readonly Setting[],
  kind: 'value' | 'secret',
): Record<string, unknown> {
  const given = settings
    .filter(({ name, variable }) => variable === kind && variables[variableName(name)] !== undefined)
    .map(({ name }) => [name, kind === 'value' ? variables[variableName(name)] : { env: variableName(name) }])
  return Object.fromEntries(given)
}

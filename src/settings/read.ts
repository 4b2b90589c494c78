/** From variables and a YAML file to the configuration, or to all of its mistakes at once. */
import { z } from 'zod'
import { readGlobals } from './globals.ts'
import type { Mistake } from './mistakes.ts'
import { type ProjectSettings, projectFields, toProject } from './project.ts'
import { onDemand } from './secret-fields.ts'
import type { Config } from './settings.ts'
import { holdsKey } from './shown.ts'
import type { Part, Settings, Sources } from './sources.ts'
import { mistakesOf, placeIn, record } from './sources.ts'
import { projectDefaultsOf, secretsOf, variableOf } from './variables.ts'

const projectName = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

export function readConfig(sources: Sources): Part<Omit<Config, 'warnings'>> {
  const top = record(sources.yaml?.values ?? {})
  if (top === null) return wrong(placeIn(sources, []), 'must be a map of settings')
  const { projects: named, ...lines } = top
  const isDefault = (key: string) => key in projectFields(sources.readSecret) && key !== 'api_key'
  const [defaults, own] = split(lines, isDefault)
  const globals = readGlobals(sources, own)
  const projects = 'projects' in top ? readMany(sources, defaults, named) : [readOne(sources, defaults)]
  const wrongProjects = [...projects.flatMap(({ mistakes }) => mistakes), ...twins(sources, projects)]
  const needed = sources.needs === 'database' ? [] : wrongProjects
  const mistakes = once([...globals.mistakes, ...needed])
  if (globals.value === null || mistakes.length > 0) return { value: null, mistakes }
  const { readOnly } = globals.value
  const described = projects.flatMap(({ value }) => (value === null ? [] : [{ ...value, readOnly }]))
  return { value: { ...globals.value, projects: described }, mistakes }
}

function readMany(sources: Sources, defaults: Settings, projects: unknown): readonly Part<ProjectSettings>[] {
  const named = record(projects)
  const where = placeIn(sources, ['projects'])
  if (named === null || Object.keys(named).length === 0) {
    return [wrong(where, 'must be a map of at least one project: its name, and its settings below')]
  }
  if (sources.variables[variableOf('project_id')] !== undefined) {
    return [wrong(where, `and ${variableOf('project_id')} are both set: describe projects in one of the two places`)]
  }
  return Object.entries(named).map(([name, settings]) => readNamed(sources, defaults, name, settings))
}

/** Rows are kept by project id, and people tell projects apart by names that a command line may write either way. */
function twins(sources: Sources, projects: readonly Part<ProjectSettings>[]): Mistake[] {
  const read = projects.flatMap(({ value }) => value ?? [])
  const earlier = (key: 'name' | 'projectId', { [key]: text }: ProjectSettings, before: number) =>
    read.slice(0, before).find((other) => other[key].toLowerCase() === text.toLowerCase())
  return read.flatMap((project, place): Mistake[] => {
    const [named, same] = [earlier('name', project, place), earlier('projectId', project, place)]
    const at = (...key: string[]) => placeIn(sources, ['projects', project.name, ...key])
    const why = (other: ProjectSettings) =>
      `is the project of ${other.name} as well: a warehouse mirrors each project once`
    return [
      ...(named === undefined ? [] : [{ where: at(), why: `differs from ${named.name} only in its capitals` }]),
      ...(same === undefined ? [] : [{ where: at('project_id'), why: why(same) }]),
    ]
  })
}

function readNamed(sources: Sources, defaults: Settings, name: string, settings: unknown): Part<ProjectSettings> {
  const place = (key = '') => placeIn(sources, ['projects', name, ...key.split('.').filter((part) => part !== '')])
  const own = record(settings)
  if (own === null) return wrong(place(), 'must be a map of settings')
  if (!projectName.test(name) || holdsKey(name))
    return wrong(place(), 'is no name for a project: use letters, digits, dots and dashes')
  return readProject(sources, name, defaults, own, place)
}

/** The single project that variables describe; settings at the top of the file are its defaults. */
function readOne(sources: Sources, defaults: Settings): Part<ProjectSettings> {
  const isSet = (key: string) => sources.variables[variableOf(key)] !== undefined
  const place = (key: string) => variableOf(key === 'api_key' && isSet('api_key_file') ? 'api_key_file' : key)
  const read = readProject(sources, 'default', defaults, secretsOf(sources.variables), place)
  const both = isSet('api_key') && isSet('api_key_file')
  const why = `and ${variableOf('api_key_file')} are both set: keep one of them`
  return both ? { ...read, mistakes: [...read.mistakes, { where: variableOf('api_key'), why }] } : read
}

/** A project's own line wins over a variable, a variable over a line at the top of the file. */
function readProject(
  sources: Sources,
  name: string,
  defaults: Settings,
  lines: Settings,
  ownPlace: (key: string) => string,
): Part<ProjectSettings> {
  const [top, own] = [spreadSchedules(defaults), spreadSchedules(lines)]
  const fromVariables = projectDefaultsOf(sources.variables)
  const eager = sources.needs === 'service'
  const keyless = eager ? {} : { api_key: { env: variableOf('api_key') } }
  const values: Settings = { ...keyless, ...top, ...fromVariables, ...own }
  const where = (key: string) => {
    if (key in own) return ownPlace(key)
    if (key in fromVariables) return variableOf(key)
    return key in top ? placeIn(sources, key.split('.')) : ownPlace(key)
  }
  const read = z
    .strictObject(projectFields(eager ? sources.readSecret : onDemand(sources.readSecret)))
    .safeParse(values)
  if (!read.success) return { value: null, mistakes: mistakesOf(read.error, values, where) }
  return { value: toProject(name, read.data), mistakes: [] }
}

/** Takes the map `schedules` apart; what is no map stays as it is, to be refused. */
function spreadSchedules(settings: Settings): Settings {
  const { schedules, ...rest } = settings
  const map = record(schedules)
  if (map === null) return settings
  return { ...rest, ...Object.fromEntries(Object.entries(map).map(([name, value]) => [`schedules.${name}`, value])) }
}

/** A mistake in a line that several projects inherit is one mistake. */
function once(mistakes: readonly Mistake[]): readonly Mistake[] {
  return [...new Map(mistakes.map((mistake) => [`${mistake.where} ${mistake.why}`, mistake])).values()]
}

function split(settings: Settings, first: (key: string) => boolean): [Settings, Settings] {
  const entries = Object.entries(settings)
  const part = (wanted: boolean) => Object.fromEntries(entries.filter(([key]) => first(key) === wanted))
  return [part(true), part(false)]
}

function wrong(where: string, why: string): { readonly value: null; readonly mistakes: Part<never>['mistakes'] } {
  return { value: null, mistakes: [{ where, why }] }
}

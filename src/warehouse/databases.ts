/** Which databases the projects of a configuration are mirrored into, and which settings say so. */
import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { parseDatabaseUrl } from './database/location.ts'

/** Where projects are mirrored, and the setting that says so, for errors. */
export type Databases = {
  readonly databaseUrl: string
  readonly databaseSetting?: string | undefined
  readonly projects: readonly ProjectDatabase[]
}

/** `databaseUrl` null: the first database. */
type ProjectDatabase = { readonly name?: string; readonly projectId: string; readonly databaseUrl: string | null }

/** For one project. */
export function databasesOf(databases: Databases, project: ProjectDatabase): Databases {
  return { ...firstOf(databases), projects: [project] }
}

/** The database that a project is mirrored into, by itself: for what only reads the project. */
export function ownDatabase(databases: Databases, { name, databaseUrl }: ProjectDatabase): Databases {
  if (databaseUrl === null) return { ...firstOf(databases), projects: [] }
  return { databaseUrl, databaseSetting: `projects.${name}.database_url of deskmirror.yaml`, projects: [] }
}

function firstOf({ databaseUrl, databaseSetting }: Databases) {
  return { databaseUrl, databaseSetting }
}

/** The addresses of all databases, the first one first. */
export function databaseUrls(databases: Databases): readonly string[] {
  return listDatabases(databases).map(({ databaseUrl }) => databaseUrl)
}

/** All databases, the first one first. */
export function listDatabases(databases: Databases): readonly Databases[] {
  const all = [databases, ...databases.projects.map((project) => ownDatabase(databases, project))]
  return [...Map.groupBy(all, ({ databaseUrl }) => placeOf(databaseUrl)).values()].flatMap(([first]) => first ?? [])
}

/** Two ways to write the path of one file are one database: two connections of a process would wait for each other. */
export function placeOf(url: string): string {
  const location = parseDatabaseUrl(url)
  return location.kind === 'sqlite' ? realPath(resolve(location.path)) : location.url
}

/** Without links, also if the file does not exist yet. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPath(folder), basename(path))
  }
}

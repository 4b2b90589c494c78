/** Whether the worker can write the lakes that have a project's rows. Changes nothing. */
import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config, ProjectConfig } from '../config/config.ts'
import { type ConfiguredLake, lakesOf } from '../config/lakes.ts'
import { keptFiles, rejectKept } from '../export/kept-files.ts'
import { manifestName, readManifestOf } from '../export/lake/manifest.ts'
import { explainErrors } from '../export/output-file.ts'
import { UserError } from '../values/user-error.ts'

export function checkLakes(config: Config, project: ProjectConfig) {
  return Promise.all(lakesOf(config, project).map((lake) => checkLake(config, lake)))
}

async function checkLake(config: Config, { folder, project }: ConfiguredLake) {
  try {
    rejectKept(join(folder, manifestName), keptFiles(config))
    await explainErrors(folder, () =>
      access(`${existingFolder(resolve(folder))}/.`, constants.W_OK),
    )
    const manifest = readManifestOf(folder, project?.projectId ?? null)
    const shows = manifest === null ? 'not written yet' : `written at ${manifest.writtenAt}`
    return { name: 'lake', state: 'ok' as const, detail: `${folder}, ${shows}`, hint: null }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { name: 'lake', state: 'error' as const, detail: error.message, hint: error.next }
  }
}

const existingFolder = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : existingFolder(dirname(path))

/**
 * A script that loads the program, so that it is compiled for processes that end before they could
 * keep what they compiled.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

for (const file of globSync(['src/{app,cli,sandbox}/*.ts', 'jobs/*.ts'], { cwd: root }))
  if (!file.endsWith('/main.ts')) await import(join(root, file))

/**
 * Replaces a file as a whole: after a crash, or with a full disk, one of the two texts is there.
 */
import { randomUUID } from 'node:crypto'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { giveToOwnerOf } from './sqlite-file.ts'
import { resolveLinks } from './warehouse-files.ts'

/** Only its owner may read it: that of `beside`. A link stays, and leads to the file. */
export function replaceFile(path: string, text: string, beside = path): void {
  const target = resolveLinks(path)
  // In containers that share a folder, several processes have the same number.
  const written = `${target}.${randomUUID()}`
  try {
    writeFileSync(written, text, { mode: 0o600, flush: true, flag: 'wx' })
    giveToOwnerOf(beside, written)
    renameSync(written, target)
  } finally {
    // Of a full disk it would stay.
    rmSync(written, { force: true })
  }
}

/** Of which commit this program is, for whoever reports a fault; git itself is not run. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Written when the package or the image is made. */
export const commitFile = 'dist/commit'

const digits = 12

/**
 * `folder`: of the package, or a checkout, perhaps a work tree. Null: it is neither, or git keeps
 * its branches in another form.
 */
export function readCommit(folder: string, isCompiled: boolean): string | null {
  const written = isCompiled ? readLine(join(folder, commitFile)) : null
  const found = written ?? readGit(join(folder, '.git'))
  return found !== null && /^[0-9a-f]{12}/.test(found) ? found.slice(0, digits) : null
}

function readGit(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return null
  const named = found.isFile() ? /^gitdir: (.+)$/.exec(readLine(path) ?? '')?.[1] : '.'
  if (named === undefined) return null
  const git = found.isFile() ? resolve(path, '..', named) : path
  const head = readLine(join(git, 'HEAD')) ?? ''
  const ref = /^ref: (refs\/.+)$/.exec(head)?.[1]
  if (ref === undefined) return head
  const common = resolve(git, readLine(join(git, 'commondir')) ?? '.')
  const own = readLine(join(common, ref))
  if (own !== null) return own
  const packed = join(common, 'packed-refs')
  if (!existsSync(packed)) return null
  const line = readFileSync(packed, 'utf8')
    .split('\n')
    .find((each) => each.endsWith(` ${ref}`))
  return line ?? null
}

function readLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').split('\n')[0]?.trim() || null
  } catch {
    return null
  }
}

/** The licences of the packages whose code a bundle contains: they require that their text goes with the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** `modules`: the files in the bundle. Throws if a package has no licence file. */
export function renderLicenses(modules: readonly string[]): string {
  const folders = [...new Set(modules.flatMap((file) => packageFolder(file) ?? []))].sort()
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${folder} has no licence file`)
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  return `The files beside this one contain code of these packages.\n\n${texts.join(`\n${'-'.repeat(80)}\n\n`)}`
}

/** Null for our own files. */
function packageFolder(file: string): string | null {
  return /^.*[\\/]node_modules[\\/](@[^\\/]+[\\/])?[^\\/]+/.exec(file)?.[0] ?? null
}

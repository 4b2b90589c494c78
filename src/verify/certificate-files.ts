/** The two files of a certificate: JSON for programs and a page for people. Each appears only when both are complete. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import type { Certificate } from '../core/certificate.ts'
import { systemErrorText } from '../core/system-error-text.ts'
import { UserError } from '../core/user-error.ts'
import { createOutputFile, type OverwriteOptions } from '../export/output-file.ts'
import { renderHtml } from '../report/html/html.ts'
import { certificatePage } from './certificate-page.ts'

export type CertificateFiles = {
  readonly json: string
  readonly page: string
  /** Returns the SHA-256 of the JSON file. */
  readonly write: (certificate: Certificate) => Promise<string>
  /** Removes what is not finished. Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** `kiosk`, `kiosk.json` and `kiosk.html` are the files `kiosk.json` and `kiosk.html`. */
export function certificatePaths(name: string): { readonly json: string; readonly page: string } {
  const base = name.replace(/\.(json|html?)$/i, '')
  return { json: `${base}.json`, page: `${base}.html` }
}

/** Throws UserError if a file exists or cannot be created. */
export async function openCertificateFiles(name: string, options: OverwriteOptions): Promise<CertificateFiles> {
  const { json, page } = certificatePaths(name)
  if (basename(json) === '.json' || /[/\\]$/.test(name)) throw namelessError(name)
  const jsonFile = await createOutputFile(json, options)
  const pageFile = await createOutputFile(page, options).catch(async (error: unknown) => {
    await jsonFile.discard()
    throw error
  })
  let isPublished = false
  return {
    json,
    page,
    write: async (certificate) => {
      const text = Buffer.from(`${JSON.stringify(certificate, null, 2)}\n`)
      const sha256 = sha256Of(text)
      await jsonFile.output.write(text)
      const page = certificatePage(certificate, { name: basename(json), sha256 })
      await pageFile.output.write(Buffer.from(renderHtml(page)))
      await pageFile.publish()
      await jsonFile.publish()
      isPublished = true
      return sha256
    },
    close: async () => {
      if (isPublished) return
      await jsonFile.discard()
      await pageFile.discard()
    },
  }
}

/** `out/` would be the files `out/.json` and `out/.html`, which few people see. */
function namelessError(name: string): UserError {
  const next = 'name a file in it: two files are written, FILE.json and FILE.html'
  return new UserError({
    what: `cannot write ${name || 'the certificate'}`,
    why: 'it names no file',
    next,
    exitCode: 2,
  })
}

export type CertificateText = { readonly path: string; readonly text: string; readonly sha256: string }

/** The text of `FILE`, or of `FILE.json`. Throws UserError if it cannot be read. */
export function readCertificateText(name: string): CertificateText {
  const isFile = statSync(name, { throwIfNoEntry: false })?.isFile() === true
  const path = isFile && !/\.html?$/i.test(name) ? name : certificatePaths(name).json
  try {
    const bytes = readFileSync(path)
    return { path, text: bytes.toString(), sha256: sha256Of(bytes) }
  } catch (error) {
    const text = systemErrorText(error)
    if (text === undefined) throw error
    throw new UserError({ what: `cannot read ${path}`, ...text })
  }
}

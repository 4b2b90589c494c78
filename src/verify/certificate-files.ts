/** The two files of a certificate: JSON for programs and a page for people. Each appears only when both are complete. */
import { existsSync, readFileSync } from 'node:fs'
import type { Certificate } from '../core/certificate.ts'
import { systemErrorText } from '../core/system-error-text.ts'
import { UserError } from '../core/user-error.ts'
import { createOutputFile, type OverwriteOptions } from '../export/output-file.ts'
import { renderHtml } from '../report/html/html.ts'
import { certificatePage } from './certificate-page.ts'

export type CertificateFiles = {
  readonly json: string
  readonly page: string
  readonly write: (certificate: Certificate) => Promise<void>
  /** Removes what is not finished. Call it when done, also after an error. */
  readonly close: () => Promise<void>
}

/** `kiosk`, `kiosk.json` and `kiosk.html` are the files `kiosk.json` and `kiosk.html`. */
export function certificatePaths(name: string): { readonly json: string; readonly page: string } {
  const base = name.replace(/\.(json|html?)$/i, '')
  return { json: `${base}.json`, page: `${base}.html` }
}

/** Throws UserError if a file exists or cannot be created. */
export async function openCertificateFiles(name: string, options: OverwriteOptions): Promise<CertificateFiles> {
  const { json, page } = certificatePaths(name)
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
      await jsonFile.output.write(Buffer.from(`${JSON.stringify(certificate, null, 2)}\n`))
      await pageFile.output.write(Buffer.from(renderHtml(certificatePage(certificate))))
      await pageFile.publish()
      await jsonFile.publish()
      isPublished = true
    },
    close: async () => {
      if (isPublished) return
      await jsonFile.discard()
      await pageFile.discard()
    },
  }
}

/** The text of `FILE`, or of `FILE.json`. Throws UserError if it cannot be read. */
export function readCertificateText(name: string): { readonly path: string; readonly text: string } {
  const path = existsSync(name) && !/\.html?$/i.test(name) ? name : certificatePaths(name).json
  try {
    return { path, text: readFileSync(path, 'utf8') }
  } catch (error) {
    const text = systemErrorText(error)
    if (text === undefined) throw error
    throw new UserError({ what: `cannot read ${path}`, ...text })
  }
}

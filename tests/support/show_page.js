/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs the script of a page of `hugeplanctl report` like a browser, with the parts of a document that it uses, and prints
 * the resulting document as XML. It is an error if the script reads a field that the page's JSON does not have.
 *
 * usage: node show_page.js < PAGE */
"use strict";

const fs = require("fs");
const vm = require("vm");

const page = fs.readFileSync(0, "utf8");
const escape = (text) => String(text).replace(/[&<>"']/g, (each) => `&#${each.charCodeAt(0)};`);

class Element {
  constructor(tag) {
    this.tag = tag;
    this.attributes = new Map();
    this.children = [];
  }

  setAttribute(name, value) {
    this.attributes.set(name, String(value));
  }

  append(...children) {
    this.children.push(...children);
  }

  toString() {
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${escape(value)}"`).join("");
    const children = this.children.map((each) => each instanceof Element ? String(each) : escape(each)).join("");

    return `<${this.tag}${attributes}>${children}</${this.tag}>`;
  }
}

/* Throws an error if a missing field is read. */
function strict(value, place) {
  if (value === null || typeof value !== "object")
    return value;
  return new Proxy(value, {
    get(target, name) {
      if (typeof name === "string" && !(name in target) && name !== "toJSON")
        throw new Error(`the script reads ${place}.${name}, which is not in the JSON`);
      return Array.isArray(target) && !/^\d+$/.test(String(name)) ? target[name] : strict(target[name], `${place}.${String(name)}`);
    },
  });
}

const scripts = [...page.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)];
const data = scripts.find((script) => script[1].includes('id="report"'))[2];
const document = {
  title: "",
  body: new Element("body"),
  createElement: (tag) => new Element(tag),
  createElementNS: (_space, tag) => new Element(tag),
  getElementById: (id) => ({report: {textContent: data}})[id],
};

vm.runInNewContext(scripts.find((script) => script[1] === "")[2],
  {document, JSON: {parse: (text) => strict(JSON.parse(text), "report")}});
console.log(`<html><head><title>${escape(document.title)}</title></head>${document.body}</html>`);

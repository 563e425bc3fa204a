"use strict";
// Browsers allow no worker to a page opened from a folder (file://), and the site's search runs in one. There, a hidden
// frame does the work instead: it loads the worker's script and hands messages to and fro.
class FrameWorker extends EventTarget {
  constructor(address) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inner = this.frame.contentWindow;
    this.ready = new Promise((done) => { this.frame.addEventListener("load", done, { once: true }); });
    inner.document.open();
    inner.document.write("<!doctype html><body></body>");
    inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
    const script = inner.document.createElement("script");
    script.src = address;
    inner.document.body.append(script);
    inner.document.close();
  }

  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }

  terminate() {
    this.frame.remove();
  }
}

if (location.protocol === "file:") window.Worker = FrameWorker;

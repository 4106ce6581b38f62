// Search in a site opened as a file, where browsers start no workers: the worker's script runs in a hidden frame.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      inside.importScripts = (...urls) => urls.forEach(load);
      const load = (src) => frame.contentDocument.body.append(Object.assign(frame.contentDocument.createElement("script"), { src, async: false }));
      load(url);
      this.ready = new Promise((done) => (frame.contentDocument.body.lastChild.onload = done));
      this.inside = inside;
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
